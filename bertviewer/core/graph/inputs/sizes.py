"""Reads the sizes of inputs from a configuration and its sub-configurations."""

from collections.abc import Iterator, Sequence
from typing import Any

from bertviewer.core.building.config_values import config_value

Parts = Sequence[str]
"""Words in the names of sub-configurations that are asked before the others."""

IMAGE_PARTS: Parts = ("vision", "image", "vit", "backbone", "perception")
SOUND_PARTS: Parts = ("audio", "speech", "acoustic", "sound", "semantic", "codec")
ACTION_PARTS: Parts = ("dit", "action")


def parts_of(config: Any) -> Iterator[tuple[str, Any]]:
    """Yield a configuration under an empty name and its sub-configurations, breadth first."""
    waiting = [("", config)]
    for name, each in waiting:
        yield name, each
        waiting += [
            (f"{name}.{key}", value)
            for key, value in vars(each).items()
            if hasattr(value, "model_type") and not isinstance(value, type)
        ]


def found_in(config: Any, names: Sequence[str], first: Parts = ()) -> Iterator[Any]:
    """Yield the values of synonymous keys: by key in the given order, then by part."""
    parts = sorted(parts_of(config), key=lambda part: not any(word in part[0] for word in first))
    for name in names:
        for _, part in parts:
            if (value := config_value(part, name)) is not None:
                yield value


def number(config: Any, names: Sequence[str], first: Parts = (), default: int = 0) -> int:
    """Return the first integer among the values of ``found_in``, or at the start of a list."""
    for value in found_in(config, names, first):
        first_value = value[0] if isinstance(value, list | tuple) and value else value
        if isinstance(first_value, int) and not isinstance(first_value, bool):
            return first_value
    return default


def height_and_width(
    config: Any, names: Sequence[str], first: Parts = (), default: int = 0
) -> tuple[int, int]:
    """Return the first size of a rectangle: one number, two, or two by their names."""
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
