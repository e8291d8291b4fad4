"""Weights that stay in a checkpoint's files until they are needed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from bertviewer.core.checkpoints.stored import StoredTensor
from bertviewer.core.loading.pretrained import read_each
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


class LazyParameter(nn.Parameter):
    """A parameter that has all but its numbers, and the place where these are stored.

    What is calculated with it while it is absent is calculated with its numbers, which are read for
    that one operation: that is right anywhere, and slow. A layer has them from ``weights_in`` while
    it works.
    """

    stored: StoredTensor

    def __new__(
        cls, stored: StoredTensor, dtype: torch.dtype, device: torch.device
    ) -> "LazyParameter":
        """Make one that is read as ``dtype``, for calculations on ``device``."""
        made: LazyParameter = torch.Tensor._make_wrapper_subclass(
            cls, stored.shape, dtype=dtype, device=device
        )
        made.stored = stored
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation with the numbers of the absent weights among its operands.

        Raises:
            UserError: they cannot be read, or are to be changed in place, which would be lost.
        """
        del types
        if func._schema.is_mutable and args and isinstance(args[0], LazyParameter):
            raise UserError(
                f"{args[0].stored.name} is changed by the model as it runs, so it cannot be read "
                "layer by layer"
            )
        args, kwargs = tree_map_only(LazyParameter, LazyParameter.read, (args, kwargs or {}))
        return func(*args, **kwargs)

    def __repr__(self, **_choices: Any) -> str:  # type: ignore[override]
        return f"{type(self).__name__}({self.stored.name})"

    def at(self, device: torch.device) -> "LazyParameter":
        """Return the same for calculations on another device."""
        return LazyParameter(self.stored, self.dtype, device)

    def read(self) -> torch.Tensor:
        """Return its numbers.

        Raises:
            UserError: the file cannot be read, or is not the one any more that was opened.
        """
        return _read([self], no_progress)[self.stored.name]


Slot = tuple[nn.Module, str, LazyParameter]
"""A module, and its own tensor of that name, which is absent."""


def lazy_parameters(module: nn.Module) -> list[Slot]:
    """Return where in a module weights are absent; a tied one stands in several places."""
    return [
        (owner, name, tensor)
        for owner in module.modules()
        for name, tensor in owner._parameters.items()
        if isinstance(tensor, LazyParameter)
    ]


def bring(module: nn.Module, progress: Progress = no_progress) -> list[Slot]:
    """Put the absent weights of a module in their places, and return what has to be put back.

    Raises:
        UserError: a file cannot be read, or is not the one any more that was opened.
        Cancelled: ``progress`` said so.
    """
    slots = lazy_parameters(module)
    found = _read([weight for _, _, weight in slots], progress)
    whole = {key: nn.Parameter(values, requires_grad=False) for key, values in found.items()}
    for owner, name, weight in slots:
        owner._parameters[name] = whole[weight.stored.name]
    return slots


def give_back(slots: Sequence[Slot]) -> None:
    """Take weights out of their places again, and with that out of memory."""
    for owner, name, weight in slots:
        owner._parameters[name] = weight


@contextmanager
def weights_in(module: nn.Module, progress: Progress = no_progress) -> Iterator[None]:
    """Have all weights of a module, and of those in it, in memory inside the ``with``.

    What is there already stays. The module may be called inside as often as one likes.

    Raises:
        UserError: a file cannot be read, or is not the one any more that was opened.
        Cancelled: ``progress`` said so.
    """
    slots = bring(module, progress)
    try:
        yield
    finally:
        give_back(slots)


def exchanged(slots: Sequence[Slot], change: Callable[[LazyParameter], LazyParameter]) -> None:
    """Put other absent weights in these places; a tied one stays one."""
    others = {id(weight): change(weight) for _, _, weight in slots}
    give_back([(owner, name, others[id(weight)]) for owner, name, weight in slots])


def _read(weights: Iterable[LazyParameter], progress: Progress) -> dict[str, torch.Tensor]:
    """Return the numbers of absent weights by their keys.

    One after the other is converted, so that no more than one of them is there twice.
    """
    by_key = {weight.stored.name: weight for weight in weights}
    places = sorted(
        (weight.stored for weight in by_key.values()), key=lambda place: (place.file, place.offset)
    )
    found: dict[str, torch.Tensor] = {}
    # What looks on while a model works is not to see how its weights come.
    with torch._C.DisableTorchFunction(), torch.no_grad():
        for place, values in read_each(places, progress):
            weight = by_key[place.name]
            found[place.name] = values.to(device=weight.device, dtype=weight.dtype)
    return found
