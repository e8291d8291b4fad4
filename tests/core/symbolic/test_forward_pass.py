"""A forward pass on the meta device: the products of each module, and the live memory."""

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.building.backend import transformers
from bertviewer.core.graph import products
from bertviewer.core.symbolic.forward_pass import ForwardPass, entry_kind, owner_of, read_forward
from bertviewer.core.util.budget import limited
from bertviewer.core.util.progress import no_progress


class Model(nn.Module):
    """An embedding of width 4, followed by parts."""

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


def read(**parts: nn.Module) -> ForwardPass:
    """Read a pass of 2 sentences of 5 tokens."""
    return read_forward(Model(**parts).to("meta"), {"B": 2, "S": 5})


def test_products_belong_to_the_module_that_computes_them() -> None:
    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.inner(x)
            return y @ y.transpose(1, 2) @ x

    found = read(dense=nn.Linear(4, 6), out=nn.Linear(6, 4), core=Scores())
    names = [name for name in found.shapes if entry_kind(name) == "~product"]
    assert {(owner_of(name), found.shapes[name]) for name in names} == {
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
def test_products_of_convolutions(convolution: nn.Module, macs: int) -> None:
    assert read(convolution=convolution).sizes["convolution"] == macs


def test_a_module_counts_at_each_call() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.dense(self.dense(x))
            return y

    found = read(twice=Twice())
    assert found.shapes["twice.dense.~product0_4"] == (2, 10, 4, 4)
    assert found.sizes["twice"] == 2 * 10 * 16


def test_a_module_built_in_the_pass_takes_no_memory() -> None:
    class Builds(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            built = nn.Linear(40_000, 40_000)
            assert built.weight.is_meta
            y: Tensor = built(x.repeat(1, 1, 10_000))
            return y

    initialise = nn.init.kaiming_uniform_
    with limited(no_progress, memory=300_000_000):
        found = read(builds=Builds())
    assert found.sizes["builds"] == 10 * 40_000**2
    assert nn.init.kaiming_uniform_ is initialise


def test_inputs_and_outputs() -> None:
    shapes = read(dense=nn.Linear(4, 6)).shapes
    assert shapes["~input_2"] == (2, 5)
    assert shapes["~output_3"] == shapes["dense.~output_3"] == (2, 5, 6)
    assert shapes["dense.~input_3"] == (2, 5, 4)
    assert (owner_of("~input_2"), entry_kind("~input_2")) == ("", "~input")
    assert entry_kind("encoder.layer.0") == ""


def test_the_peak_of_live_memory() -> None:
    class Steps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            wide = torch.cat([x, x, x], -1)
            x = wide[..., :4].clone()
            del wide
            return x.add_(1) + 1

    found = read(steps=Steps())
    # The embedding's output, which the caller holds; the concatenation; its copy.
    assert found.peak == 40 + 120 + 40
    assert max(map(len, found.moments)) == 3
    assert sorted(found.storages.values()) == [(2, 5, 4), (2, 5, 4), (2, 5, 4), (2, 5, 12)]


def test_buffers_and_integers_are_no_activations() -> None:
    class Positions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.zeros(1000))

        def forward(self, x: Tensor) -> Tensor:
            positions = torch.arange(x.shape[1], device=x.device).expand(50, -1).clone()
            return x + self.get_buffer("table")[:4] + positions[0, 0]

    assert read(positions=Positions()).peak == 3 * 40


def test_values_that_follow_from_the_inputs_are_known() -> None:
    class Branches(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            mask = torch.ones(x.shape[:2], device=x.device, dtype=torch.bool)
            if mask.all():
                mask[:, 0] = False
            assert torch.tensor([1.0, 2.0]).to(x.device).sum().item() == 3
            assert int(mask.sum()) == 8
            return x * torch.arange(4.0)  # on the CPU, as in some models

    assert read(branches=Branches()).shapes["branches.~output_3"] == (2, 5, 4)


def test_an_endless_pass_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "MAX_STEPS", 50)

    class Endless(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            while True:
                x = x.view(x.shape)

    with pytest.raises(RuntimeError, match="too many steps"):
        read(endless=Endless())
