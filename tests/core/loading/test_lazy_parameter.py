"""Lazy parameters: operations read the values, and ``loaded_parameters`` keeps them in memory."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.checkpoints.stored import StoredTensor
from bertviewer.core.loading.lazy_parameter import LazyParameter, lazy_parameters, loaded_parameters
from bertviewer.core.loading.pretrained import check_unchanged, read_each
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress

WEIGHT = torch.arange(12.0).reshape(3, 4) / 7


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_file({"w": WEIGHT}, path)
    return path


@pytest.fixture
def lazy(file: Path) -> LazyParameter:
    checkpoint = find_checkpoint(file)
    assert checkpoint is not None
    (stored,) = check_unchanged(checkpoint.tensors.values())
    return LazyParameter(stored, torch.float32, torch.device("cpu"))


@pytest.fixture
def tied(lazy: LazyParameter) -> nn.Sequential:
    """Return two modules with one weight."""
    module = nn.Sequential(nn.Linear(4, 3, bias=False), nn.Embedding(3, 4))
    for part in module:
        part._parameters["weight"] = lazy
    return module


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the tensors that are read from a file."""
    names: list[str] = []

    def read(
        tensors: Sequence[StoredTensor], progress: Progress
    ) -> Iterator[tuple[StoredTensor, Tensor]]:
        names.extend(tensor.name for tensor in tensors)
        return read_each(tensors, progress)

    monkeypatch.setattr("bertviewer.core.loading.lazy_parameter.read_each", read)
    return names


def test_properties_do_not_read_the_values(lazy: LazyParameter, reads: list[str]) -> None:
    assert isinstance(lazy, nn.Parameter)
    assert tuple(lazy.shape) == (3, 4)
    assert (lazy.dtype, lazy.device) == (torch.float32, torch.device("cpu"))
    assert (lazy.nbytes, lazy.is_meta) == (48, False)
    assert "w" in repr(lazy)
    assert reads == []


@pytest.mark.parametrize(
    "operation",
    [
        lambda w: nn.functional.linear(torch.ones(2, 4), w),
        lambda w: nn.functional.embedding(torch.tensor([2, 0]), w),
        lambda w: w.detach(),
        lambda w: w[1:, ::2],
        lambda w: w.double().sum(0),
        lambda w: torch.cat([w.t(), w.t()], 1),
    ],
)
def test_operations_read_the_values(
    lazy: LazyParameter, operation: Callable[[Tensor], Tensor]
) -> None:
    with torch.no_grad():
        assert torch.equal(operation(lazy), operation(WEIGHT))


def test_the_values_cannot_be_changed(lazy: LazyParameter) -> None:
    with torch.no_grad(), pytest.raises(UserError, match=r"^w is changed by the model as it runs"):
        lazy.div_(2)


def test_loaded_values_are_read_once(tied: nn.Sequential, reads: list[str]) -> None:
    with torch.no_grad(), loaded_parameters(tied):
        assert lazy_parameters(tied) == []
        assert tied[0].weight is tied[1].weight
        with loaded_parameters(tied[0]):  # leaves what is loaded
            assert torch.equal(tied[0](torch.eye(4)), WEIGHT.t())
        assert torch.equal(tied[1](torch.tensor([1])), WEIGHT[1:2])
    assert reads == ["w"]
    assert len(lazy_parameters(tied)) == 2
    assert tied[0].weight is tied[1].weight


def test_values_are_unloaded_after_an_error(tied: nn.Sequential) -> None:
    with pytest.raises(ValueError, match="stop"), loaded_parameters(tied):
        raise ValueError("stop")
    assert len(lazy_parameters(tied)) == 2


def test_a_changed_file_is_reported(tied: nn.Sequential, file: Path) -> None:
    os.utime(file, (1, 1))
    with (
        pytest.raises(UserError, match="the file has changed since it was opened"),
        loaded_parameters(tied),
    ):
        pytest.fail("values of another version")
    assert len(lazy_parameters(tied)) == 2
