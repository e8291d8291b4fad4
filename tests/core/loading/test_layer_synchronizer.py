"""Passes that share loads of layers: their order, and when weights are in memory."""

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

UNITS = ("0", "1", "2")


class Layers(nn.ModuleList):
    """Calls its layers in any order, and notes who was in which."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(3, 3, bias=False) for _ in UNITS)
        self.log: list[tuple[str, int, tuple[bool, ...]]] = []

    def forward(self, name: str, order: Sequence[int]) -> Tensor:
        value = torch.ones(1, 3)
        for number in order:
            value = self[number](value)
            are_there = tuple(not lazy_parameters(layer) for layer in self)
            self.log.append((name, number, are_there))
        return value


@pytest.fixture
def layers(tmp_path: Path) -> Layers:
    made = Layers()
    for number, layer in enumerate(made):
        layer.weight = nn.Parameter(torch.eye(3) * (number + 2))
    save_file(dict(made.state_dict()), tmp_path / "model.safetensors")
    checkpoint = find_checkpoint(tmp_path / "model.safetensors")
    assert checkpoint is not None
    for stored in check_unchanged(checkpoint.tensors.values()):
        owner = made.get_submodule(stored.name.partition(".")[0])
        owner._parameters["weight"] = LazyParameter(stored, torch.float32, torch.device("cpu"))
    return made


def jobs(layers: Layers, orders: Sequence[Sequence[int]]) -> list[Callable[[], float]]:
    def job(name: str, order: Sequence[int]) -> Callable[[], float]:
        def call() -> float:
            with torch.no_grad():
                return float(layers(name, order)[0, 0])

        return call

    return [job(chr(ord("a") + place), order) for place, order in enumerate(orders)]


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == THREAD_NAME]


def run(layers: Layers, *orders: Sequence[int]) -> tuple[list[float], str]:
    steps = LayerSynchronizer(layers, OffloadState(UNITS), lambda: None)
    found = steps.run(jobs(layers, orders))
    assert len(lazy_parameters(layers)) == len(UNITS)
    assert threads() == []
    return found, " ".join(f"{name}{number}" for name, number, _ in layers.log)


def test_all_go_through_a_unit_before_one_goes_through_the_next(layers: Layers) -> None:
    found, log = run(layers, (0, 1, 2), (0, 1, 2), (0, 1, 2))
    assert found == [24.0] * 3
    assert log == "a0 b0 c0 a1 b1 c1 a2 b2 c2"
    assert all(
        are_there == tuple(place == number for place in range(3))
        for _, number, are_there in layers.log
    )


@pytest.mark.parametrize(
    ("orders", "log"),
    [
        (((0, 2), (0, 1, 2), (0, 1)), "a0 b0 c0 b1 c1 a2 b2"),  # some leave one out
        (((2, 1, 0), (0, 1, 2)), "b0 b1 a2 b2 a1 a0"),
        (((0, 0, 1), (0, 0, 0, 1)), "a0 b0 a0 b0 b0 a1 b1"),  # a layer that is shared
        (((1, 0, 1), (), (1,)), "a1 c1 a0 a1"),
        ((), ""),
    ],
)
def test_other_orders(layers: Layers, orders: Sequence[Sequence[int]], log: str) -> None:
    _, found = run(layers, *orders)
    assert found == log


def test_a_module_in_memory_is_called_in_turn(layers: Layers) -> None:
    here = threading.current_thread()
    steps = LayerSynchronizer(layers, None, lambda: None)
    assert steps.run([threading.current_thread, threading.current_thread]) == [here, here]
    assert steps.largest == 0


def test_the_largest_unit(layers: Layers) -> None:
    weights = [layer._parameters["weight"] for layer in layers]
    layers[1]._parameters["other"] = weights[0]
    assert LayerSynchronizer(layers, OffloadState(UNITS), lambda: None).largest == 2 * 36
    layers[1]._parameters["other"] = weights[1]  # tied, and read once
    assert LayerSynchronizer(layers, OffloadState(UNITS), lambda: None).largest == 36


def test_threads_calculate_as_the_one_that_asks(layers: Layers) -> None:
    def settings() -> tuple[int, bool]:
        return torch.get_num_threads(), torch.is_grad_enabled()

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            found = LayerSynchronizer(layers, OffloadState(UNITS), lambda: None).run(
                [settings, settings]
            )
        assert found == [(1, False)] * 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("last", [0, 1])
def test_an_error_ends_all(layers: Layers, last: int) -> None:
    def fail() -> float:
        layers("x", range(last))
        raise ValueError("stop")

    steps = LayerSynchronizer(layers, OffloadState(UNITS), lambda: None)
    with pytest.raises(ValueError, match="stop"):
        steps.run([*jobs(layers, [(0, 1, 2)]), fail, *jobs(layers, [(0, 1, 2)])])
    assert threads() == []
    assert len(lazy_parameters(layers)) == len(UNITS)
    assert all(number < 1 for _, number, _ in layers.log)


def test_one_that_takes_no_end(layers: Layers) -> None:
    """As a model that catches any exception, and goes on with another layer."""

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
        LayerSynchronizer(layers, OffloadState(UNITS), lambda: None).run([stubborn, fail])
    assert threads() == []


@pytest.mark.parametrize("after", range(6))
def test_a_check_that_stops_it(layers: Layers, after: int) -> None:
    left = after

    def check() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Cancelled

    with pytest.raises(Cancelled):
        LayerSynchronizer(layers, OffloadState(UNITS), check).run(jobs(layers, [(0, 1, 2)] * 3))
    assert threads() == []
    assert len(lazy_parameters(layers)) == len(UNITS)
