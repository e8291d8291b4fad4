"""Plain values, and the numbers among them that JSON does not know.

They are written as transformers does: ``{"__float__": "Infinity"}``.
"""

import math
from collections.abc import Mapping
from typing import Any

Scalar = str | int | float | bool | None

KEY = "__float__"
NAMES = ("Infinity", "-Infinity", "NaN")


def encoded(value: Any) -> Any:
    """Return plain data with every number that is not finite in that form."""
    if isinstance(value, Mapping):
        return {key: encoded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {KEY: "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")}
    return value


def decoded(value: Any) -> Any:
    """Return plain data with the numbers that ``encoded`` wrote."""
    if isinstance(value, Mapping):
        if list(value) == [KEY] and value[KEY] in NAMES:
            return float(value[KEY])
        return {key: decoded(inner) for key, inner in value.items()}
    return [decoded(inner) for inner in value] if isinstance(value, list) else value
