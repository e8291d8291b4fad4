"""Tables in Markdown, whatever their cells say."""

import re
from collections.abc import Iterable, Sequence

from bertviewer.core.util.plain_text import printable

SPACE = "\N{NO-BREAK SPACE}"
"""What indents a cell: other spaces at its start are left out."""
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|$&~]")
_LINK = re.compile(r"(?<=:)/|(?<=www)\.", re.IGNORECASE)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table's lines; of the cells, not of the header, nothing is read as markup."""
    lines = [header, ["---" for _ in header], *(list(map(markdown_cell, row)) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def markdown_cell(text: str) -> str:
    """Escape what Markdown would read as markup; names come from strangers."""
    parts = text.replace("\n", " ").split(SPACE)
    return "&nbsp;".join(printable(markdown_text(part)) for part in parts)


def markdown_text(text: str) -> str:
    """Escape what would be markup, or a link, anywhere but at the start of a line."""
    return _LINK.sub(r"\\\g<0>", _MARKUP.sub(r"\\\g<0>", text))
