"""Operations on a lazy parameter are those on its values."""

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
def absent(file: Path) -> LazyParameter:
    checkpoint = find_checkpoint(file)
    assert checkpoint is not None
    (stored,) = check_unchanged(checkpoint.tensors.values())
    return LazyParameter(stored, torch.float32, torch.device("cpu"))


@pytest.fixture
def tied(absent: LazyParameter) -> nn.Sequential:
    """Return two modules with one weight."""
    module = nn.Sequential(nn.Linear(4, 3, bias=False), nn.Embedding(3, 4))
    for part in module:
        part._parameters["weight"] = absent
    return module


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of what is read, which grows."""
    names: list[str] = []

    def noted(
        tensors: Sequence[StoredTensor], progress: Progress
    ) -> Iterator[tuple[StoredTensor, Tensor]]:
        names.extend(tensor.name for tensor in tensors)
        return read_each(tensors, progress)

    monkeypatch.setattr("bertviewer.core.loading.lazy_parameter.read_each", noted)
    return names


def test_it_has_all_but_its_numbers(absent: LazyParameter, read: list[str]) -> None:
    assert isinstance(absent, nn.Parameter)
    assert tuple(absent.shape) == (3, 4)
    assert (absent.dtype, absent.device) == (torch.float32, torch.device("cpu"))
    assert (absent.nbytes, absent.is_meta) == (48, False)
    assert "w" in repr(absent)
    assert read == []


@pytest.mark.parametrize(
    "operation",
    [
        lambda w: w @ torch.ones(4),
        lambda w: nn.functional.linear(torch.ones(2, 4), w),
        lambda w: nn.functional.embedding(torch.tensor([2, 0]), w),
        lambda w: w.detach(),
        lambda w: w[1:, ::2],
        lambda w: w.double().sum(0),
        lambda w: torch.cat([w.t(), w.t()], 1),
    ],
)
def test_what_is_calculated_with_it(
    absent: LazyParameter, operation: Callable[[Tensor], Tensor]
) -> None:
    with torch.no_grad():
        assert torch.equal(operation(absent), operation(WEIGHT))


def test_it_is_not_written_to(absent: LazyParameter) -> None:
    with torch.no_grad(), pytest.raises(UserError, match=r"^w is changed by the model as it runs"):
        absent.div_(2)


def test_weights_are_there_once_for_many_calls(tied: nn.Sequential, read: list[str]) -> None:
    with torch.no_grad(), loaded_parameters(tied):
        assert lazy_parameters(tied) == []
        assert tied[0].weight is tied[1].weight
        with loaded_parameters(tied[0]):  # what is there stays
            assert torch.equal(tied[0](torch.eye(4)), WEIGHT.t())
        assert torch.equal(tied[1](torch.tensor([1])), WEIGHT[1:2])
    assert read == ["w"]
    assert len(lazy_parameters(tied)) == 2
    assert tied[0].weight is tied[1].weight


def test_weights_are_given_back_after_an_error(tied: nn.Sequential) -> None:
    with pytest.raises(ValueError, match="stop"), loaded_parameters(tied):
        raise ValueError("stop")
    assert len(lazy_parameters(tied)) == 2


def test_a_file_that_was_written_anew(tied: nn.Sequential, file: Path) -> None:
    os.utime(file, (1, 1))
    with (
        pytest.raises(UserError, match="the file has changed since it was opened"),
        loaded_parameters(tied),
    ):
        raise AssertionError("it was read")
    assert len(lazy_parameters(tied)) == 2
