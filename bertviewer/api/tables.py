"""Tables as lists of plain dicts, which pandas, polars and pyarrow take as they are."""

from collections.abc import Iterable, Mapping
from typing import Any

Row = dict[str, Any]
"""One row: texts, numbers and lists; the same keys in every row of a table.

A text that there is none of is empty: polars takes the type of a column from its first rows, which
``None`` would not say. A number that there is none of is ``None``.
"""

_TEXTS = frozenset(
    {"not_measured", "macs_reason", "tied_to", "domain", "forward_formula", "formula_from", "dtype"}
)
_LISTS = frozenset({"input_shape", "output_shape", "symbolic_shape"})


def row_of(entry: Mapping[str, Any]) -> Row:
    """Return an entry of a document as a row."""
    return {key: _empty(key) if value is None else value for key, value in entry.items()}


def _empty(key: str) -> Any:
    if key in _TEXTS:
        return ""
    return [] if key in _LISTS else None


def quantile_names(shares: Iterable[float]) -> list[str]:
    """Return the names of quantiles' columns: ``q5`` for 0.05."""
    return [f"q{100 * share:g}" for share in shares]
