"""Which of torch's operations are matrix products, and of which dimensions."""

from math import prod

from torch import Tensor, nn

from bertviewer.core.building.backend import torch
from bertviewer.core.graph.products import Dimensions, ProductMode, is_product, product_dimensions


def test_products_that_torch_does_not_count() -> None:
    aten = torch.ops.aten
    assert is_product(aten.mkldnn_linear.default)
    assert is_product(aten._trilinear.default)
    assert is_product(aten._int_mm.default)
    assert not is_product(aten.lgamma.default)
    assert not is_product(aten.cummax.default)
    assert not is_product(aten.upsample_bilinear2d.default)
    assert not is_product(aten._thnn_fused_lstm_cell.default)


def test_dimensions_of_a_linear_layer() -> None:
    x, weight = torch.ones(2, 7, 5), torch.ones(3, 5)
    linear = torch.ops.aten.linear.default
    assert product_dimensions(linear, (x, weight), x @ weight.T) == (2, 7, 5, 3)
    assert product_dimensions(torch.ops.aten.add.Tensor, (x, x), x) is None


class FusedModel(nn.Module):
    """Layers that torch may run in one fused kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(12, 2, 20, batch_first=True)
        self.attention = nn.MultiheadAttention(12, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.encoder(x)
        y: Tensor = self.attention(x, x, x, need_weights=False)[0]
        return y


def test_fused_encoder_layers_are_disabled() -> None:
    # torch would use them in eval mode, for an even number of heads.
    model = FusedModel().eval()
    found: list[Dimensions] = []
    with torch.no_grad(), ProductMode(found.append):
        model(torch.randn(2, 5, 12))
    attention = 2 * 5 * 12 * (4 * 12 + 2 * 5)
    assert sum(map(prod, found)) == 2 * attention + 2 * 5 * 12 * 2 * 20
