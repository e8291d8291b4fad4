"""Outputs are measured once, however many modules return them."""

from collections.abc import Callable
from typing import Any
from weakref import ReferenceType, ref

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.runs import recording
from bertviewer.core.runs.measuring import start_measuring
from bertviewer.core.runs.recording import Recorder
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.util.progress import no_progress
from tests.core.checks.small_models import SENTENCE, small_model


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Collect what is measured."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Any:
        tensors.append(tensor.clone())
        return start_measuring(tensor)

    monkeypatch.setattr(recording, "start_measuring", note)
    return tensors


def record(model: nn.Module, x: Tensor) -> dict[str, ModuleActivation]:
    recorder = Recorder(model, no_progress)
    with torch.no_grad(), recorder.recording():
        model.eval()(x)
    return {activation.path: activation for activation in recorder.activations()}


class Doubling(nn.Module):
    """Gives a tensor of its own."""

    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Shifted(nn.Module):
    """Hands a tensor on, having added to it in place."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.inner = nn.Dropout()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.inner(x)
        return result.add_(self.by) if self.by else result


def test_a_tensor_that_is_handed_on_is_measured_once(measured: list[Tensor]) -> None:
    found = record(nn.Sequential(Shifted(0), nn.Dropout(), nn.Identity()), torch.ones(1, 2, 3))
    assert len(measured) == 1
    assert len(found) == 5
    assert {activation.statistics.mean for activation in found.values()} == {1.0}


def test_a_tensor_that_is_changed_on_the_way_is_measured_again(measured: list[Tensor]) -> None:
    found = record(nn.Sequential(Shifted(5), nn.Dropout()), torch.ones(1, 2, 3))
    assert [float(tensor.mean()) for tensor in measured] == [1.0, 6.0]
    means = {path: activation.statistics.mean for path, activation in found.items()}
    assert means == {"0.inner": 1.0, "0": 6.0, "1": 6.0, "": 6.0}
    # The norms are those of the moment as well.
    norms = found["0.inner"].token_norms
    assert norms == pytest.approx([3**0.5] * 2)


def test_other_tensors_in_the_same_place_are_measured() -> None:
    class Reusing(nn.Module):
        """Drops each result before the next one is made, so that memory is used again."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = Doubling()

        def forward(self, x: Tensor) -> Tensor:
            for number in range(20):
                self.inner(x + number)
            return x

    found = record(Reusing(), torch.zeros(1, 50, 50))
    means = [call.mean for call in found["inner"].calls]
    assert means == [2.0 * number for number in range(20)]


def test_fewer_tensors_than_modules(measured: list[Tensor]) -> None:
    model = small_model("bert")
    done = run_sentence(model, SENTENCE, random_weights=True)
    assert len(measured) < 0.75 * len(done.modules)
    for activation in done.modules:
        assert len(activation.calls) == 1


def test_nothing_is_kept_alive() -> None:
    given: list[ReferenceType[Tensor]] = []
    alive: list[bool] = []

    class Noting(Doubling):
        def forward(self, x: Tensor) -> Tensor:
            alive.extend(reference() is not None for reference in given)
            result = super().forward(x)
            given.append(ref(result))
            return result

    record(nn.Sequential(*(Noting() for _ in range(6))), torch.ones(2, 2))
    # Just the one that is handed on at this moment.
    assert [sum(alive[start : start + n]) for n, start in ((1, 0), (2, 1), (3, 3), (4, 6))] == [
        1
    ] * 4
    assert not any(reference() is not None for reference in given[:-1])


def test_givers_are_told_in_order_and_by_their_numbers() -> None:
    class Turned(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.view(4, 3)

    model = nn.Sequential(Doubling(), nn.Identity(), Turned(), Doubling())
    recorder = Recorder(model, no_progress)
    x = torch.ones(2, 6)
    with torch.no_grad(), recorder.recording():
        first = model[:2](x)
        last = model[3](model[2](first))
    assert recorder.producers(first) == ["0", "1", "2"]
    assert recorder.producers(first.view(3, 4)) == ["0", "1", "2"]
    assert recorder.producers(last) == ["3"]
    # Equal numbers elsewhere, a part of them, and these once they were changed.
    assert recorder.producers(first.clone()) == []
    assert recorder.producers(first[:1]) == []
    first += 1
    assert recorder.producers(first) == []


def test_givers_do_not_mistake_another_part_of_the_same_memory() -> None:
    class Halved(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, :2]

    halved = Halved()
    recorder = Recorder(halved, no_progress)
    x = torch.ones(1, 4, 3)
    with torch.no_grad(), recorder.recording():
        first = halved(x)
    assert recorder.producers(first) == [""]
    assert recorder.producers(x[:, 2:]) == []


def given_by_view(view: Callable[[Tensor], Tensor]) -> tuple[list[str], list[str]]:
    """Return who is said to have given a tensor that a layer gives a view of, and the view."""

    class Viewing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Doubling()

        def forward(self, x: Tensor) -> Tensor:
            self.seen = self.inner(x)
            return view(self.seen)

    layer = Viewing()
    recorder = Recorder(layer, no_progress)
    with torch.no_grad(), recorder.recording():
        out = layer(torch.arange(16.0).view(1, 4, 4))
    return recorder.producers(layer.seen), recorder.producers(out)


def test_givers_are_told_by_the_numbers_of_a_view_and_not_by_where_it_begins() -> None:
    # The first row again and again, of as many elements, in the same memory.
    assert given_by_view(lambda x: x[:, :1].expand(1, 4, 4)) == (["inner"], [""])
    assert given_by_view(lambda x: x.as_strided((1, 4, 4), (8, 1, 2))) == (["inner"], [""])
    # The same numbers turned, and without an axis of size 1.
    assert given_by_view(lambda x: x.transpose(1, 2)) == (["inner", ""], ["inner", ""])
    assert given_by_view(lambda x: x[0].T.view(2, 2, 4)) == (["inner", ""], ["inner", ""])


def test_a_view_has_the_norms_of_its_own_rows() -> None:
    x = torch.arange(1.0, 17.0).view(1, 4, 4)

    class Turned(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.transpose(1, 2)

    class Repeated(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, :1].expand(1, 4, 4)

    class TurnedInPlace(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.transpose_(1, 2)

    found = record(nn.Sequential(nn.Identity(), Turned(), Repeated()), x)
    norms = {path: one.token_norms for path, one in found.items()}
    assert norms["0"] == pytest.approx(x[0].norm(dim=1).tolist())
    assert norms["1"] == pytest.approx(x[0].norm(dim=0).tolist())
    assert norms["2"] == pytest.approx([float(x[0, :, 0].norm())] * 4)
    found = record(nn.Sequential(nn.Identity(), TurnedInPlace()), x.clone())
    assert found["1"].token_norms == pytest.approx(x[0].norm(dim=0).tolist())


def test_givers_do_not_mistake_new_tensors_in_freed_memory() -> None:
    layer = Doubling()
    recorder = Recorder(layer, no_progress)
    with torch.no_grad(), recorder.recording():
        for _ in range(50):
            layer(torch.ones(64, 64))
    others = [torch.empty(64, 64) for _ in range(50)]
    assert all(recorder.producers(other) == [] for other in others)


@pytest.mark.parametrize("shape", [(1, 4, 6), (2, 4, 6), (4, 6), (6,), ()])
def test_only_one_sentences_tokens_have_norms(shape: tuple[int, ...]) -> None:
    found = record(nn.Sequential(Doubling()), torch.ones(shape))
    norms = found["0"].token_norms
    if shape == (1, 4, 6):
        assert norms == pytest.approx([2 * 6**0.5] * 4)
    else:
        assert norms is None


def test_it_works_in_inference_mode_too() -> None:
    model = nn.Sequential(Shifted(5), nn.Dropout()).eval()
    recorder = Recorder(model, no_progress)
    with torch.inference_mode(), recorder.recording():
        model(torch.ones(1, 2, 3))
    means = {a.path: a.statistics.mean for a in recorder.activations()}
    assert means == {"0.inner": 1.0, "0": 6.0, "1": 6.0, "": 6.0}
