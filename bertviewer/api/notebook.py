"""How things show themselves in a notebook: small tables, with strangers' texts escaped."""

from collections.abc import Iterable, Sequence
from html import escape

from bertviewer.core.util.text import printable

MOST_ROWS = 60


def table_html(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table under a title; of very many rows the first ones, and how many there are."""
    every = list(rows)
    lines = [f"<p><b>{_shown(title)}</b></p>", "<table>"]
    if header:
        lines.append(f"<thead><tr>{''.join(f'<th>{_shown(h)}</th>' for h in header)}</tr></thead>")
    lines.append("<tbody>")
    lines += [
        f"<tr>{''.join(f'<td>{_shown(cell)}</td>' for cell in row)}</tr>"
        for row in every[:MOST_ROWS]
    ]
    lines.append("</tbody></table>")
    if len(every) > MOST_ROWS:
        lines.append(f"<p>… {len(every) - MOST_ROWS:,} more rows</p>")
    return "\n".join(lines)


def paragraph_html(text: str) -> str:
    """Return a line of words."""
    return f"<p>{_shown(text)}</p>"


def _shown(cell: object) -> str:
    """Return a cell's text, escaped; nothing in it moves or hides other words."""
    if cell is None:
        return ""
    text = (
        f"{cell:,}" if isinstance(cell, int) else f"{cell:.6g}" if isinstance(cell, float) else cell
    )
    return escape(printable(str(text)))
