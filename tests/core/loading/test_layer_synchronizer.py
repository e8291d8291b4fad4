"""Several passes share each load of a layer: their order, and what is in memory."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.loading.layer_by_layer import OffloadState
from bertviewer.core.loading.layer_synchronizer import THREAD_NAME, LayerSynchronizer
from bertviewer.core.loading.lazy_parameter import LazyParameter, lazy_parameters
from bertviewer.core.loading.pretrained import check_unchanged
from bertviewer.core.util.errors import Cancelled

STATE = OffloadState(("0", "1", "2"))


class Layers(nn.ModuleList):
    """Calls its layers in any order, and logs each call with the layers that are in memory."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(3, 3, bias=False) for _ in STATE.units)
        self.log: list[str] = []
        self.loaded: list[tuple[int, list[int]]] = []

    def forward(self, name: str, order: Sequence[int]) -> Tensor:
        value = torch.ones(1, 3)
        for number in order:
            value = self[number](value)
            self.log.append(f"{name}{number}")
            loaded = [place for place, layer in enumerate(self) if not lazy_parameters(layer)]
            self.loaded.append((number, loaded))
        return value


@pytest.fixture
def layers(tmp_path: Path) -> Layers:
    """Return layers that multiply by 2, 3 and 4, with lazy weights."""
    made = Layers()
    weights = {f"{number}.weight": torch.eye(3) * (number + 2) for number in range(3)}
    save_file(weights, tmp_path / "model.safetensors")
    checkpoint = find_checkpoint(tmp_path / "model.safetensors")
    assert checkpoint is not None
    for stored in check_unchanged(checkpoint.tensors.values()):
        owner = made.get_submodule(stored.name.partition(".")[0])
        owner._parameters["weight"] = LazyParameter(stored, torch.float32, torch.device("cpu"))
    return made


def jobs(layers: Layers, orders: Sequence[Sequence[int]]) -> list[Callable[[], float]]:
    """Return passes with the names "a", "b" …, each with its order of layers."""

    def job(name: str, order: Sequence[int]) -> Callable[[], float]:
        def call() -> float:
            with torch.no_grad():
                return float(layers(name, order)[0, 0])

        return call

    return [job(chr(ord("a") + place), order) for place, order in enumerate(orders)]


def assert_ended(layers: Layers) -> None:
    """Check that no weights are in memory, and no threads are running."""
    assert len(lazy_parameters(layers)) == len(layers)
    assert THREAD_NAME not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize(
    ("orders", "log"),
    [
        (((0, 1, 2), (0, 1, 2), (0, 1, 2)), "a0 b0 c0 a1 b1 c1 a2 b2 c2"),
        (((0, 2), (0, 1, 2), (0, 1)), "a0 b0 c0 b1 c1 a2 b2"),  # layers are skipped
        (((2, 1, 0), (0, 1, 2)), "b0 b1 a2 b2 a1 a0"),  # in another order
        (((0, 0, 1), (0, 0, 0, 1)), "a0 b0 a0 b0 b0 a1 b1"),  # a shared layer
        (((1, 0, 1), (), (1,)), "a1 c1 a0 a1"),
        ((), ""),
    ],
)
def test_all_passes_go_through_a_layer_before_the_next_one(
    layers: Layers, orders: Sequence[Sequence[int]], log: str
) -> None:
    results = LayerSynchronizer(layers, STATE, lambda: None).run(jobs(layers, orders))
    expected = [torch.tensor([2.0, 3.0, 4.0])[list(order)].prod().item() for order in orders]
    assert results == expected
    assert " ".join(layers.log) == log
    assert all(loaded == [number] for number, loaded in layers.loaded)
    assert_ended(layers)


def test_a_module_in_memory_runs_in_this_thread(layers: Layers) -> None:
    this = threading.current_thread()
    synchronizer = LayerSynchronizer(layers, None, lambda: None)
    assert synchronizer.run([threading.current_thread] * 2) == [this, this]
    assert synchronizer.largest == 0


def test_the_largest_unit_counts_tied_parameters_once(layers: Layers) -> None:
    weights = [layer._parameters["weight"] for layer in layers]
    layers[1]._parameters["other"] = weights[0]
    assert LayerSynchronizer(layers, STATE, lambda: None).largest == 2 * 36
    layers[1]._parameters["other"] = weights[1]
    assert LayerSynchronizer(layers, STATE, lambda: None).largest == 36


def test_passes_have_the_torch_settings_of_this_thread(layers: Layers) -> None:
    def settings() -> tuple[int, bool]:
        return torch.get_num_threads(), torch.is_grad_enabled()

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            found = LayerSynchronizer(layers, STATE, lambda: None).run([settings, settings])
        assert found == [(1, False)] * 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("calls", [0, 1])
def test_an_error_ends_all_passes(layers: Layers, calls: int) -> None:
    def fail() -> float:
        layers("x", range(calls))
        raise ValueError("stop")

    first, last = jobs(layers, [(0, 1, 2)] * 2)
    with pytest.raises(ValueError, match="stop"):
        LayerSynchronizer(layers, STATE, lambda: None).run([first, fail, last])
    assert all(number == 0 for number, _ in layers.loaded)
    assert_ended(layers)


def test_a_pass_that_suppresses_cancellation_is_ended(layers: Layers) -> None:
    def stubborn() -> float:
        for number in range(3):
            try:
                layers("x", [number])
            except Cancelled:
                continue
        return 0.0

    def fail() -> float:
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        LayerSynchronizer(layers, STATE, lambda: None).run([stubborn, fail])
    assert_ended(layers)


@pytest.mark.parametrize("calls", range(6))
def test_the_check_may_cancel_at_any_time(layers: Layers, calls: int) -> None:
    left = calls

    def check() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Cancelled

    with pytest.raises(Cancelled):
        LayerSynchronizer(layers, STATE, check).run(jobs(layers, [(0, 1, 2)] * 3))
    assert_ended(layers)
