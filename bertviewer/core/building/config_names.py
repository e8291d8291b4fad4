"""Keys of a configuration that would take the place of what its class can do."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from bertviewer.core.building.backend import transformers
from bertviewer.core.checkpoints.header import shown_name


def misnamed_key(values: Mapping[str, Any], kind: type) -> str:
    """Return what is wrong with a key of a configuration that could not be made, "" if none is.

    ``kind`` is the class that it was to become. Nested configurations are looked into as well.
    """
    for key, value in values.items():
        if _is_taken(kind, key) or _is_fixed(kind, key):
            return _complaint(key, kind)
        inner = _inner_kind(key, value, kind)
        if inner is not None and (found := misnamed_key(value, inner)):
            return found
    return ""


def hidden_name(config: Any) -> str:
    """Return which key of a configuration object hides a method of its class, "" if none does.

    transformers sets any key of a file as an attribute, and would call what stands there later.
    """
    for part in _configurations(config):
        for key in vars(part):
            if _is_taken(type(part), key):
                return _complaint(key, type(part))
    return ""


def _complaint(key: str, kind: type) -> str:
    return f"the key {shown_name(key)} clashes with an attribute of {kind.__name__}"


def _is_taken(kind: type, key: str) -> bool:
    """Tell whether a class has a method of that name, or needs what it has there."""
    found = inspect.getattr_static(kind, key, None)
    return callable(found) or isinstance(found, classmethod | staticmethod) or key in _TABLES


def _is_fixed(kind: type, key: str) -> bool:
    """Tell whether a class works out a value of that name, and lets nobody set it."""
    found = inspect.getattr_static(kind, key, None)
    return isinstance(found, property) and found.fset is None


# What every access to an attribute goes through, and what the parts are told by.
_TABLES = ("attribute_map", "sub_configs", "sub_configs_defaults")


def _inner_kind(key: str, value: Any, kind: type) -> type | None:
    """Return the class that a nested configuration becomes, ``None`` for any other value."""
    if not isinstance(value, Mapping):
        return None
    inner = getattr(kind, "sub_configs", {}).get(key)
    model_type = value.get("model_type")
    if isinstance(model_type, str) and model_type in transformers.CONFIG_MAPPING:
        inner = transformers.CONFIG_MAPPING[model_type]
    if inner is None:
        return None
    # AutoConfig stands for any of them.
    of_any: type = transformers.PreTrainedConfig
    return inner if isinstance(inner, type) and issubclass(inner, of_any) else of_any


def _configurations(value: Any) -> Iterator[Any]:
    """Yield a configuration object and those that it holds, also in tables and lists."""
    if isinstance(value, transformers.PreTrainedConfig):
        yield value
        value = vars(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _configurations(inner)
