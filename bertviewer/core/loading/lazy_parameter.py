"""Parameters that are read from a checkpoint's files on first use."""

from collections.abc import Iterable, Iterator, Mapping
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
    """A parameter with shape, dtype and device, whose values stay in a file.

    An operation on it reads the values for this one operation, which is always right, and slow.
    A layer that works within ``loaded_parameters`` has them in memory.
    """

    stored: StoredTensor

    def __new__(
        cls, stored: StoredTensor, dtype: torch.dtype, device: torch.device
    ) -> "LazyParameter":
        """Create one whose values are converted to ``dtype`` and moved to ``device``."""
        # torch's way to make a tensor without storage; it has no public name.
        made: LazyParameter = torch.Tensor._make_wrapper_subclass(
            cls, stored.shape, dtype=dtype, device=device
        )
        made.stored = stored
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation with the values of its lazy operands.

        Raises:
            UserError: they cannot be read, or would be changed in place, which would be lost.
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
        """Return the same parameter for another device."""
        return LazyParameter(self.stored, self.dtype, device)

    def read(self) -> torch.Tensor:
        """Return the values.

        Raises:
            UserError: the file cannot be read, or has changed since it was opened.
        """
        return _read([self], no_progress)[self.stored.name]


Slot = tuple[nn.Module, str, LazyParameter]
"""A module, and the name of a lazy parameter that it owns."""


def lazy_parameters(module: nn.Module) -> list[Slot]:
    """Return the lazy parameters of a module and its submodules; a tied one has several slots."""
    return [
        (owner, name, parameter)
        for owner in module.modules()
        for name, parameter in owner.named_parameters(recurse=False, remove_duplicate=False)
        if isinstance(parameter, LazyParameter)
    ]


@contextmanager
def loaded_parameters(module: nn.Module, progress: Progress = no_progress) -> Iterator[None]:
    """Keep the lazy parameters of a module in memory inside the ``with``.

    Contexts can be nested: an inner one leaves what is loaded already.

    Raises:
        UserError: a file cannot be read, or has changed since it was opened.
        Cancelled: by ``progress``.
    """
    slots = lazy_parameters(module)
    found = _read([parameter for *_, parameter in slots], progress)
    whole = {key: nn.Parameter(values, requires_grad=False) for key, values in found.items()}
    try:
        for owner, name, parameter in slots:
            setattr(owner, name, whole[parameter.stored.name])
        yield
    finally:
        for slot in slots:
            setattr(*slot)


def move_module(module: nn.Module, device: str) -> None:
    """Move a module to a device; lazy parameters will be read for that device."""
    slots = lazy_parameters(module)
    moved = {id(parameter): parameter for *_, parameter in slots}
    for owner, name, _ in slots:
        setattr(owner, name, None)
    try:
        module.to(device)
        moved = {key: one.at(torch.device(device)) for key, one in moved.items()}
    finally:
        for owner, name, parameter in slots:
            setattr(owner, name, moved[id(parameter)])


def _read(parameters: Iterable[LazyParameter], progress: Progress) -> dict[str, torch.Tensor]:
    """Return the values of lazy parameters by their keys.

    They are converted one by one, so that at most one of them is in memory twice.
    """
    by_key = {parameter.stored.name: parameter for parameter in parameters}
    places = sorted(
        (one.stored for one in by_key.values()), key=lambda place: (place.file, place.offset)
    )
    found: dict[str, torch.Tensor] = {}
    # Function modes that trace or recompute a pass must not see this. torch has no public switch.
    with torch._C.DisableTorchFunction(), torch.no_grad():
        for place, values in read_each(places, progress):
            parameter = by_key[place.name]
            found[place.name] = values.to(device=parameter.device, dtype=parameter.dtype)
    return found
