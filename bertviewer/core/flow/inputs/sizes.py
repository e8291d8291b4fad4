"""Reads sizes of inputs off a configuration, and off those of its parts."""

from collections.abc import Iterator, Sequence
from typing import Any

from bertviewer.core.building.config_values import config_value

Parts = Sequence[str]

IMAGE_PARTS: Parts = ("vision", "image", "vit", "backbone", "perception")
SOUND_PARTS: Parts = ("audio", "speech", "acoustic", "sound", "semantic", "codec")
ACTION_PARTS: Parts = ("dit", "action")


def parts_of(config: Any) -> Iterator[tuple[str, Any]]:
    """Yield a configuration under an empty name, and those of its parts under theirs."""
    waiting = [("", config)]
    while waiting:
        name, each = waiting.pop(0)
        yield name, each
        waiting += [
            (f"{name}.{key}" if name else key, value)
            for key, value in vars(each).items()
            if hasattr(value, "model_type") and not isinstance(value, type)
        ]


def found_in(config: Any, names: Sequence[str], first: Parts = ()) -> Iterator[Any]:
    """Yield the values of a configuration's keys, those of the best name and part first.

    Args:
        config: transformers' configuration.
        names: of keys that mean the same, the most telling first.
        first: parts whose names have one of these in them are asked before the others.
    """
    parts = sorted(parts_of(config), key=lambda part: not any(word in part[0] for word in first))
    for name in names:
        for _, part in parts:
            value = config_value(part, name)
            if value is not None:
                yield value


def number(config: Any, names: Sequence[str], first: Parts = (), default: int = 0) -> int:
    """Return the first whole number among a configuration's values (see ``found_in``)."""
    for value in found_in(config, names, first):
        first_value = value[0] if isinstance(value, list | tuple) and value else value
        if isinstance(first_value, int) and not isinstance(first_value, bool):
            return first_value
    return default


def height_and_width(
    config: Any, names: Sequence[str], first: Parts = (), default: int = 0
) -> tuple[int, int]:
    """Return the first size of a rectangle: one number for both sides, two, or by their names."""
    for value in found_in(config, names, first):
        if isinstance(value, int):
            return value, value
        if isinstance(value, list | tuple) and value and isinstance(value[0], int):
            return value[-2 if len(value) > 1 else -1], value[-1]
        if isinstance(value, dict) and {"height", "width"} <= value.keys():
            return value["height"], value["width"]
    return default, default


def token_ids_in(config: Any) -> frozenset[int]:
    """Return every token id that a configuration gives a meaning to."""
    found: set[int] = set()
    for _, part in parts_of(config):
        for key, value in vars(part).items():
            if "token_id" in key or "token_index" in key:
                values = value if isinstance(value, list | tuple) else (value,)
                found |= {item for item in values if isinstance(item, int)}
    return frozenset(found)
