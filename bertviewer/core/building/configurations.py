"""transformers' configuration objects: built from JSON, checked, read and written back.

A configuration may set any attribute, so keys that would replace a method of the class are refused.
"""

import copy
import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

from bertviewer.core.building import transformer_base
from bertviewer.core.building.backend import transformers
from bertviewer.core.util.errors import (
    NEEDS_OTHER_FILES,
    Stopped,
    UnknownTypeError,
    UserError,
    describe_error,
    known_cause,
)
from bertviewer.core.util.text import shown_name

transformer_base.register()

_VERSION = "transformers_version"
_CLASS_TABLES = ("attribute_map", "sub_configs", "sub_configs_defaults")
"""Class attributes that transformers needs for any access to a configuration."""


def build_config(data: Mapping[str, Any], name: str) -> Any:
    """Return transformers' configuration object; ``name`` is the model's in messages.

    Raises:
        UnknownTypeError: transformers does not know the model type.
        UserError: a value is refused.
    """
    values = copy.deepcopy(dict(data))  # the class may change nested tables
    model_type = values.pop("model_type")
    values.pop(_VERSION, None)
    if model_type not in transformers.CONFIG_MAPPING:
        raise UnknownTypeError(f"{name}: model_type {model_type!r} is unknown to transformers")
    kind = transformers.CONFIG_MAPPING[model_type]
    try:
        config = kind(**values)
    except Stopped:
        raise
    except Exception as error:
        reason = _clash_in_values(values, kind) or failure_reason(error, values)
        raise UserError(f"{name}: bad configuration: {reason}") from error
    if reason := clash_in_config(config):
        raise UserError(f"{name}: bad configuration: {reason}")
    return config


def plain_config(config: Any, name: str, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a configuration object as JSON types; non-finite floats stay floats.

    ``transformers_version`` is taken from ``data``, which the object was built from.

    Raises:
        UserError: transformers cannot serialize it.
    """
    try:
        plain: dict[str, Any] = json.loads(json.dumps(config.to_dict(), default=str))
    except Exception as error:
        reason = failure_reason(error, vars(config))
        raise UserError(f"{name}: bad configuration: {reason}") from error
    plain.pop("_name_or_path", None)
    plain.pop(_VERSION, None)
    if isinstance(version := (data or {}).get(_VERSION), str):
        plain[_VERSION] = version
    return plain


def config_value(config: Any, name: str, default: Any = None) -> Any:
    """Return an attribute of a configuration object, or ``default``.

    Properties may raise anything. For an attribute that differs between layers
    (``per_layer_config``), which transformers refuses to return, the value of the other layers.
    """
    try:
        return getattr(config, name, default)
    except Stopped:
        raise
    except Exception:  # noqa: BLE001 - properties of configuration classes raise anything
        return vars(config).get(getattr(type(config), "attribute_map", {}).get(name, name), default)


def sub_configs(config: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a configuration object and those nested in it, each with the keys that lead to it."""
    yield path, config
    for key, value in vars(config).items():
        if isinstance(value, transformers.PreTrainedConfig):
            yield from sub_configs(value, (*path, key))


def failure_reason(error: Exception, values: Mapping[str, Any]) -> str:
    """Return why transformers refuses a configuration, with the key if a value is at fault."""
    strings = list(_strings(values))
    if isinstance(error, KeyError):  # a name looked up in a table, such as an activation
        for key, value in strings:
            if value == error.args[0]:
                return f"{key} {value!r} is unknown"
    if known_cause(error) == NEEDS_OTHER_FILES:
        for key, value in strings:
            if value and value in str(error):
                return f"{key} {value!r}: {NEEDS_OTHER_FILES}"
    return describe_error(error)


def clash_in_config(config: Any) -> str:
    """Return which key of a configuration object hides a method of its class, or ``""``."""
    return next(
        (
            _clash_message(key, type(part))
            for part in _all_configs(config)
            for key in vars(part)
            if _is_reserved(type(part), key)
        ),
        "",
    )


def _clash_in_values(values: Mapping[str, Any], kind: type) -> str:
    """Return which key would hide a method, for arguments that a configuration class refused."""
    for key, value in values.items():
        if _is_reserved(kind, key):
            return _clash_message(key, kind)
        if isinstance(value, Mapping):
            inner = getattr(kind, "sub_configs", {}).get(key)
            model_type = value.get("model_type")
            if isinstance(model_type, str) and model_type in transformers.CONFIG_MAPPING:
                inner = transformers.CONFIG_MAPPING[model_type]
            if inner is None:
                continue
            if not issubclass(inner, transformers.PreTrainedConfig):  # AutoConfig: any class
                inner = transformers.PreTrainedConfig
            if found := _clash_in_values(value, inner):
                return found
    return ""


def _is_reserved(kind: type, key: str) -> bool:
    """Return whether a name is a method, a read-only property or a table of a class."""
    found = inspect.getattr_static(kind, key, None)
    is_method = callable(found) or isinstance(found, classmethod | staticmethod)
    is_read_only = isinstance(found, property) and found.fset is None
    return is_method or is_read_only or key in _CLASS_TABLES


def _clash_message(key: str, kind: type) -> str:
    return f"the key {shown_name(key)} clashes with an attribute of {kind.__name__}"


def _all_configs(value: Any) -> Iterator[Any]:
    """Yield a configuration object and those nested in it, also within tables and lists."""
    if isinstance(value, transformers.PreTrainedConfig):
        yield value
        value = vars(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _all_configs(inner)


def _strings(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, Mapping):
            yield from _strings(value)
