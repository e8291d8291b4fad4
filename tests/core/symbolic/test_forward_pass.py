"""One pass on the meta device: what is done in which module, and what is alive meanwhile."""

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.building.backend import transformers
from bertviewer.core.graph import products
from bertviewer.core.symbolic.forward_pass import entry_kind, owner_of, read_forward
from bertviewer.core.util.budget import limited
from bertviewer.core.util.progress import no_progress

SIZES = {"B": 2, "S": 5}


class Model(nn.Module):
    """A model of text made of what a test needs."""

    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        self.config = transformers.PreTrainedConfig()
        self.embedding = nn.Embedding(10, 4)
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, input_ids: Tensor, return_dict: bool = True) -> Tensor:
        hidden: Tensor = self.embedding(input_ids)
        for name, part in self.named_children():
            if name != "embedding":
                hidden = part(hidden)
        return hidden


def on_meta(model: nn.Module) -> nn.Module:
    return model.to("meta")


def shapes_of(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return dict(read_forward(on_meta(model), SIZES).shapes)


def test_products_stand_under_the_module_that_does_them() -> None:
    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.inner(x)
            return y @ y.transpose(1, 2) @ x

    found = read_forward(
        on_meta(Model(dense=nn.Linear(4, 6), out=nn.Linear(6, 4), core=Scores())), SIZES
    )
    products = {
        name: shape for name, shape in found.shapes.items() if entry_kind(name) == "~product"
    }
    assert {(owner_of(name), shape) for name, shape in products.items()} == {
        ("dense", (1, 10, 4, 6)),
        ("out", (1, 10, 6, 4)),
        ("core", (1, 2, 5, 4, 5)),
        ("core", (1, 2, 5, 5, 4)),
        ("core.inner", (1, 10, 4, 4)),
    }
    assert found.sizes["core"] == 2 * 2 * 5 * 5 * 4 + 10 * 16
    assert found.sizes[""] == found.sizes["core"] + 2 * 10 * 24
    assert found.called == {"", "embedding", "dense", "out", "core", "core.inner"}


@pytest.mark.parametrize(
    ("convolution", "macs"),
    [
        (nn.Conv1d(5, 8, 3, padding=1, groups=1), 2 * 8 * 4 * 5 * 3),
        (nn.Conv1d(5, 10, 3, padding=1, groups=5), 2 * 10 * 4 * 1 * 3),
        (nn.ConvTranspose1d(5, 8, 2, stride=2), 2 * 5 * 4 * 8 * 2),
    ],
)
def test_convolutions(convolution: nn.Module, macs: int) -> None:
    assert read_forward(on_meta(Model(convolution=convolution)), SIZES).sizes["convolution"] == macs


def test_a_module_called_again_counts_again() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.dense(self.dense(x))
            return y

    found = read_forward(on_meta(Model(twice=Twice())), SIZES)
    assert found.shapes["twice.dense.~product0_4"] == (2, 10, 4, 4)
    assert found.sizes["twice"] == 2 * 10 * 16


def test_a_module_made_in_the_forward_pass_takes_no_memory() -> None:
    class Makes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            made = nn.Linear(40_000, 40_000)
            assert made.weight.is_meta
            y: Tensor = made(x.repeat(1, 1, 10_000))
            return y

    init = nn.init.kaiming_uniform_
    with limited(no_progress, memory=300_000_000):
        found = read_forward(on_meta(Model(makes=Makes())), SIZES)
    assert found.sizes["makes"] == 10 * 40_000**2
    assert nn.init.kaiming_uniform_ is init


def test_what_goes_in_and_comes_out() -> None:
    shapes = shapes_of(Model(dense=nn.Linear(4, 6)))
    assert shapes["~input_2"] == (2, 5)
    assert shapes["~output_3"] == shapes["dense.~output_3"] == (2, 5, 6)
    assert shapes["dense.~input_3"] == (2, 5, 4)
    assert (owner_of("~input_2"), entry_kind("~input_2")) == ("", "~input")
    assert entry_kind("encoder.layer.0") == ""


def test_memory_is_free_again_when_nobody_holds_it() -> None:
    class Steps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            wide = torch.cat([x, x, x], -1)  # with x: 4 * 40 elements
            x = wide[..., :4].clone()
            del wide
            return x.add_(1) + 1

    found = read_forward(on_meta(Model(steps=Steps())), SIZES)
    # The caller holds what the embedding gave; the copy, the whole, and the views take no more.
    assert found.peak == 40 + 120 + 40
    assert max(map(len, found.moments)) == 3
    assert sorted(found.storages.values()) == [(2, 5, 4), (2, 5, 4), (2, 5, 4), (2, 5, 12)]


def test_weights_buffers_and_whole_numbers_are_no_activations() -> None:
    class Positions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.zeros(1000))

        def forward(self, x: Tensor) -> Tensor:
            positions = torch.arange(x.shape[1], device=x.device).expand(50, -1).clone()
            return x + self.get_buffer("table")[:4] + positions[0, 0]

    found = read_forward(on_meta(Model(positions=Positions())), SIZES)
    assert found.peak == 3 * 40


class Asks(nn.Module):
    """Looks at values before it goes on."""

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.ones(x.shape[:2], device=x.device, dtype=torch.bool)
        if mask.all():
            mask[:, 0] = False
        known = torch.tensor([1.0, 2.0]).to(x.device).sum().item()
        assert known == 3
        assert int(mask.sum()) == 8
        table = torch.arange(4.0)  # on the CPU, as some models do it
        return x * table


def test_what_follows_from_the_inputs_is_known() -> None:
    assert read_forward(on_meta(Model(asks=Asks())), SIZES).shapes["asks.~output_3"] == (2, 5, 4)


def test_an_endless_model_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "MAX_STEPS", 50)

    class Steps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            while True:
                x = x.view(x.shape)

    with pytest.raises(RuntimeError, match="too many steps"):
        read_forward(on_meta(Model(steps=Steps())), SIZES)
