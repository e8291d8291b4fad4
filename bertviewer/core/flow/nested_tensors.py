"""Tensors in what modules take and give: alone, in tuples, in lists, by name in outputs."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor


def named_in(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors in a value with their names in it, ``past.0`` for one in a tuple."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from named_in(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, tuple | list):
        for place, item in enumerate(value):
            yield from named_in(item, f"{name}.{place}" if name else str(place))


def mapped_in(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a value of the same make with every tensor in it changed."""
    if isinstance(value, Tensor):
        return change(value)
    if not isinstance(value, tuple | list | dict):
        return value
    changed = {
        key: mapped_in(item, change)
        for key, item in (value.items() if isinstance(value, dict) else enumerate(value))
    }
    if all(changed[key] is value[key] for key in changed):
        return value
    if isinstance(value, dict):  # a ModelOutput too
        made = copy.copy(value)
        for key, item in changed.items():
            made[key] = item
        return made
    items = changed.values()
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def memory_of(tensor: Tensor) -> int:
    """Return what tells the memory behind a tensor, and behind all views of it, from others."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except NotImplementedError:  # sparse tensors have none
        return id(tensor)
