"""Which of torch's operations are matrix products, and of which dimensions."""

import re
from math import prod

from torch import Tensor, nn

from bertviewer.core.backend import torch
from bertviewer.core.graph.product_mode import ProductMode
from bertviewer.core.graph.products import Dimensions, is_product, product_dimensions

WORDS = re.compile(
    r"mm|matmul|conv|attention|attn|lstm|gru|rnn|linear|einsum|encoder_layer|tensordot"
)
# Sums of other things, or made of operations that are seen.
NO_PRODUCTS = re.compile(
    r"cummax|cummin|gamma|hamming|upsample|convert|_compute_linear_combination|backward|weight$"
    r"|prepack|fbgemm_pack|reorder|quantize_weight|_search$|flatten|thnn_fused|gammainc|nested"
)
COMPOSED = {
    *("matmul", "linalg_matmul", "einsum", "tensordot", "conv1d", "conv2d", "conv3d"),
    *("_convolution", "_convolution_mode", "conv_transpose1d", "conv_transpose2d"),
    *("conv_transpose3d", "scaled_dot_product_attention", "_scaled_dot_product_attention_math"),
    *("lstm", "gru", "rnn_relu", "rnn_tanh", "lstm_cell", "gru_cell", "rnn_relu_cell"),
    *("rnn_tanh_cell", "thnn_conv2d", "slow_conv3d", "_slow_conv2d_forward"),
}


def test_every_operation_of_torch_that_sounds_like_a_product_is_known_or_told() -> None:
    names = {
        name.removeprefix("aten::").partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")
    }
    unknown = []
    for name in sorted(names):
        if not WORDS.search(name) or NO_PRODUCTS.search(name) or name in COMPOSED:
            continue
        packet = getattr(torch.ops.aten, name)
        if not is_product(getattr(packet, packet.overloads()[0])):
            unknown.append(name)
    assert not unknown


def test_linear_layers_in_one_step() -> None:
    x, weight = torch.ones(2, 7, 5), torch.ones(3, 5)
    linear = torch.ops.aten.linear.default
    assert product_dimensions(linear, (x, weight), x @ weight.T) == (2, 7, 5, 3)
    assert product_dimensions(torch.ops.aten.add.Tensor, (x, x), x) is None


class AtOnce(nn.Module):
    """What torch could do at once."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(12, 2, 20, batch_first=True)
        self.attention = nn.MultiheadAttention(12, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.encoder(x)
        y: Tensor = self.attention(x, x, x, need_weights=False)[0]
        return y


def test_torch_does_no_encoder_layer_and_no_attention_at_once() -> None:
    # It would in evaluation, for an even number of heads, and nothing could be seen in it.
    model = AtOnce().eval()
    found: list[Dimensions] = []
    with torch.no_grad(), ProductMode(found.append):
        model(torch.randn(2, 5, 12))
    attention = 2 * 5 * 12 * (4 * 12 + 2 * 5)
    assert sum(map(prod, found)) == 2 * attention + 2 * 5 * 12 * 2 * 20
