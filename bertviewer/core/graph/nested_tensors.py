"""Tensors in the inputs and outputs of modules: alone, in tuples, lists, mappings and outputs."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor

_NESTED = (tuple, list, Mapping)


def named_in(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors in a value with their names in it, ``past.0`` for one in a tuple."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, _NESTED):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from named_in(item, f"{name}.{key}" if name else str(key))


def mapped_in(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a value of the same type with every tensor in it changed."""
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


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return the value as new dicts and tuples, with every tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {name: mapped(item, change) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(mapped(item, change) for item in value)
    return value


def plain(value: Any) -> Any:
    """Return the same tensors in new dicts and tuples."""
    return mapped(value, lambda tensor: tensor)


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors in tuples, lists and mappings, in order: faster than torch's pytree."""
    found: list[Tensor] = []
    _collect((value,), found)
    return found


def _collect(value: Any, found: list[Tensor]) -> None:
    for item in value.values() if isinstance(value, Mapping) else value:
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, _NESTED):
            _collect(item, found)


def memory_of(tensor: Tensor) -> int:
    """Return the identity of the storage of a tensor and all its views."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except NotImplementedError:  # sparse tensors have none
        return id(tensor)


def versions(value: Any) -> tuple[int, ...]:
    """Return how many times each tensor in ``value`` was changed in place so far."""
    return tuple(tensor._version for tensor in tensors_in(value))
