"""Charts and tables as text with all of their fields, for golden files."""

from collections.abc import Callable, Mapping, Sized
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import csv_text

Golden = Callable[[str, str], None]


def described(charts: Mapping[str, Any]) -> str:
    """Return the fields of charts that differ from their defaults, and their exported data."""
    return "\n".join(f"{name}: {_chart(chart)}" for name, chart in charts.items())


def _chart(chart: Any) -> str:
    if not isinstance(chart, Struct):
        return f"{_shown(chart)}\n"
    lines = [type(chart).__name__]
    for name, value in _fields(chart).items():
        if isinstance(value, tuple) and value and isinstance(value[0], Struct | tuple):
            lines += [f"    {name} {n}: {_shown(each)}" for n, each in enumerate(value)]
        else:
            lines.append(f"    {name}: {_shown(value)}")
    if isinstance(chart, GridChart) and chart.values.size:
        lines.append(f"    first cell: {chart.text(0, 0)}")
    if hasattr(chart, "table"):
        lines += [f"    | {line}" for line in csv_text(chart).splitlines()]
    return "\n".join(lines) + "\n"


def _fields(value: Struct) -> dict[str, Any]:
    found = {}
    for field in msgspec.structs.fields(value):
        own = getattr(value, field.name)
        if own is not field.default and not (isinstance(own, Sized) and not len(own)):
            found[field.name] = own
    return found


def _shown(value: object) -> str:
    match value:
        case SelectionKey():
            return "key(" + ", ".join(f"{n}={v}" for n, v in _fields(value).items()) + ")"
        case Struct():
            fields = (f"{name}={_shown(each)}" for name, each in _fields(value).items())
            return f"{type(value).__name__}({', '.join(fields)})"
        case tuple() | list():
            return f"[{', '.join(map(_shown, value))}]"
        case dict():
            return f"{{{', '.join(f'{_shown(k)}: {_shown(v)}' for k, v in value.items())}}}"
        case float():
            return f"{value:.6g}"
        case str():
            return repr(value)
        case _ if hasattr(value, "__array__"):
            return _shown(np.asarray(value).tolist())
        case _:
            return str(value)
