"""Tables as lists of plain dicts, for pandas, polars and pyarrow, and as HTML for notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from bertviewer.core.util.text import printable

MAX_HTML_ROWS = 60

Row = dict[str, Any]
"""A row: texts, numbers and lists; every row of a table has the same keys.

A missing text is "": polars takes the type of a column from its first rows, and ``None`` would not
tell it. A missing number is ``None``.
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
    """Return the column names of quantiles: ``q5`` for 0.05."""
    return [f"q{100 * share:g}" for share in shares]


def table_html(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return the first rows of a table as HTML, with the number of further rows."""
    every = list(rows)
    lines = [f"<p><b>{_cell(title)}</b></p>", "<table>"]
    if header:
        lines.append(f"<thead><tr>{''.join(f'<th>{_cell(h)}</th>' for h in header)}</tr></thead>")
    lines.append("<tbody>")
    lines += [
        f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>"
        for row in every[:MAX_HTML_ROWS]
    ]
    lines.append("</tbody></table>")
    if len(every) > MAX_HTML_ROWS:
        lines.append(f"<p>… {len(every) - MAX_HTML_ROWS:,} more rows</p>")
    return "\n".join(lines)


def paragraph_html(text: str) -> str:
    """Return a paragraph as HTML."""
    return f"<p>{_cell(text)}</p>"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        value = f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
    return escape(printable(str(value)))
