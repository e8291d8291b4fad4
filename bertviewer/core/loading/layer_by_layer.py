"""Runs a model layer by layer: a layer's weights are read when it is called, and given back after.

The calls are noticed by accelerate's hooks.
"""

from collections.abc import Collection, Mapping
from importlib.util import find_spec
from typing import Any

from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.building.backend import torch
from bertviewer.core.checkpoints.keys import LoadReport
from bertviewer.core.checkpoints.stored import Checkpoint, StoredTensor
from bertviewer.core.loading.layer_plan import Plan
from bertviewer.core.loading.lazy_parameter import (
    LazyParameter,
    Slot,
    bring,
    exchanged,
    give_back,
    lazy_parameters,
)
from bertviewer.core.loading.matching import where
from bertviewer.core.loading.pretrained import load_pretrained, unchanged
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


class Reading(Struct):
    """How the absent weights of a model are read.

    Attributes:
        units: the paths of the modules that are called with their weights.
        progress: is told when a unit is read, and can stop it.
    """

    units: tuple[str, ...]
    progress: Progress = no_progress


def has_hooks() -> bool:
    """Tell whether accelerate is there, without importing it."""
    return find_spec("accelerate") is not None


def load_layer_by_layer(  # noqa: PLR0917
    like: nn.Module,
    config: Any,
    checkpoint: Checkpoint,
    keys: LoadReport,
    planned: Plan,
    untied: Collection[str],
    progress: Progress,
) -> tuple[nn.Module, tuple[str, ...], Reading]:
    """Return a module of which the planned weights stay in their files, and the random ones' names.

    transformers puts it together from stand-ins, as it does from the weights themselves: what is
    drawn at random, and what is no weight, is what it is in the whole model, bit by bit.

    Raises:
        UserError: a file has changed, a weight is no float, or transformers refuses them.
    """
    places = unchanged(checkpoint.tensors[key] for key in planned.names.values())
    different = {keys.stored.get(name) for name in untied}
    # transformers compares what the class ties, and ties what is equal.
    stand_ins = {
        place.name: _StandIn(place.shape, int(place.name in different)) for place in places
    }
    module, random = load_pretrained(like, config, checkpoint, keys, progress, stand_ins)
    of_pointer = {
        given.data_ptr(): place for place in places for given in stand_ins[place.name].given
    }
    if left := _put_absent(module, of_pointer):
        raise UserError(
            f"{where(checkpoint)}: it cannot be run layer by layer, since {left} is changed as it "
            "is loaded"
        )
    reading = Reading(planned.units)
    attach(module, reading)
    return module, random, reading


def _put_absent(module: nn.Module, places: Mapping[int, StoredTensor]) -> str:
    """Put absent weights for the stand-ins, by their pointers; return a key that is not there."""
    made: dict[int, LazyParameter] = {}
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is None or (place := places.get(parameter.data_ptr())) is None:
                continue
            if id(parameter) not in made:
                made[id(parameter)] = LazyParameter(place, parameter.dtype, parameter.device)
            owner._parameters[name] = made[id(parameter)]
    found = {weight.stored.name for weight in made.values()}
    return next((place.name for place in places.values() if place.name not in found), "")


def attach(module: nn.Module, reading: Reading) -> None:
    """Have the absent weights of a module's units read whenever one of these is called."""
    from accelerate.hooks import ModelHook, add_hook_to_module

    class LayerHook(ModelHook):  # type: ignore[misc]
        """Brings a layer's weights before its ``forward``, and gives them back after it."""

        def __init__(self, number: int) -> None:
            self._number = number
            self._brought: list[list[Slot]] = []

        def pre_forward(self, module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            self._brought.append(bring(module, self._tell))
            return args, kwargs

        def _tell(self, done: int, total: int, label: str) -> None:
            del done, total, label  # the bytes of one layer
            units = reading.units
            reading.progress(self._number, len(units), f"Reading {units[self._number]}")

        def post_forward(self, _module: nn.Module, output: Any) -> Any:
            give_back(self._brought.pop())
            return output

        def tidy(self, *_call: Any) -> None:
            """Give back what a call that failed, or was stopped, has left."""
            while self._brought:
                give_back(self._brought.pop())

    for number, path in enumerate(reading.units):
        unit = module.get_submodule(path)
        hook = LayerHook(number)
        add_hook_to_module(unit, hook)
        unit.register_forward_hook(hook.tidy, always_call=True)


def move_rest(module: nn.Module, device: str) -> None:
    """Move what is in memory to a device; what is not will be read for it."""
    slots = lazy_parameters(module)
    for owner, name, _ in slots:
        owner._parameters[name] = None
    try:
        module.to(device)
    finally:
        give_back(slots)
    home = torch.device(device)
    exchanged(slots, lambda weight: weight.at(home))


class _StandIn:
    """A tensor of which transformers sees all but the numbers, and for which no memory is taken.

    It is asked for like a part of a file that is read as late as possible.
    """

    def __init__(self, shape: tuple[int, ...], number: int) -> None:
        self.shape = shape
        self._number = number
        self.given: list[Tensor] = []

    def __getitem__(self, _all: Any) -> "_StandIn":
        return self

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> Tensor:
        """Return a tensor of this shape, all of whose elements are one and the same number."""
        single = torch.full((), self._number, dtype=dtype, device=device)
        self.given.append(single.expand(self.shape))
        return self.given[-1]
