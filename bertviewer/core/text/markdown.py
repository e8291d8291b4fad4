"""Tables in Markdown, whatever their cells say."""

from collections.abc import Iterable, Sequence

from bertviewer.core.text.plain_text import printable


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table's lines; of the cells, not of the header, nothing is read as markup."""
    lines = [header, ["---" for _ in header], *(list(map(markdown_cell, row)) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def markdown_cell(text: str) -> str:
    """Escape what Markdown would read as markup; names come from strangers."""
    for character in "\\`*_{}[]<>#|$":
        text = text.replace(character, f"\\{character}")
    return printable(text.replace("\n", " "))
