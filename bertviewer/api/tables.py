"""Tables as lists of plain dicts, which pandas, polars and pyarrow take as they are."""

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]
"""One row: texts, numbers, ``None``, and lists of these; the same keys in every row of a table."""


def flat(row: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> Row:
    """Return an entry of a document with what is nested in it as columns of their own."""
    found: Row = {}
    for key, value in row.items():
        if key in without:
            continue
        if isinstance(value, Mapping):
            found |= {f"{key}_{inner}": each for inner, each in value.items()}
        else:
            found[key] = value
    return found
