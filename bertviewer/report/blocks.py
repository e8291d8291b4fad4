"""The blocks of a report as plain data: paragraphs, tables, figures, formulas in sections.

Each format writes these blocks. A text is a tuple of spans: plain strings, which are never markup,
and spans with a meaning. A ``See`` refers to a table, figure, formula or section by its name;
``ReportDocument.numbers`` has their numbers.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from bertviewer.core.schema.count_steps import CountSteps


class Code(Struct, frozen=True):
    """A path, a key, a shape or a command, in monospaced type."""

    text: str


class Maths(Struct, frozen=True):
    """A symbol or a short formula in Typst's notation, never from a model's files."""

    source: str


class Letters(Struct, frozen=True):
    """A formula or a shape in symbols, where ``N_e`` is an N with a subscript."""

    text: str


class Strong(Struct, frozen=True):
    """Bold text."""

    text: str


class Muted(Struct, frozen=True):
    """Secondary text in a lighter colour."""

    text: str


class See(Struct, frozen=True):
    """A reference to a table, figure, formula or section by its name, shown as ``Table 3.1``."""

    name: str


class Tick(Struct, frozen=True):
    """A tick mark, or a cross if the condition does not hold."""

    holds: bool


class Bar(Struct, frozen=True):
    """A horizontal bar for a fraction from 0 to 1."""

    share: float


class Break(Struct, frozen=True):
    """A line break."""


Span = str | Code | Maths | Letters | Strong | Muted | See | Tick | Bar | Break
Text = tuple[Span, ...]
"""A line or a paragraph."""

Look = Literal["plain", "note", "quote", "warning"]
"""The look of a paragraph; a quote is a user's text, a note is small, a warning is framed."""


class Paragraph(Struct, frozen=True):
    """A paragraph."""

    text: Text
    look: Look = "plain"

    @classmethod
    def of(cls, *text: Span, look: Look = "plain") -> "Paragraph":
        """Return a paragraph of these spans."""
        return cls(text, look)


class Facts(Struct, frozen=True):
    """Names and values, a line each."""

    pairs: tuple[tuple[str, Text], ...]


class Column(Struct, frozen=True):
    """A column of a table.

    ``share`` is the column's share of the remaining width, 0 for the width of its widest cell.
    Numbers of a ``decimal`` column are aligned at the decimal point. ``unit`` is in the header.
    """

    title: str
    align: Literal["left", "right", "center", "decimal"] = "left"
    share: float = 0.0
    unit: str = ""


RowLook = Literal["plain", "head", "total"]


class Row(Struct, frozen=True):
    """A row with one cell per column.

    A ``head`` is the heading of the rows below it: one cell over all columns, or over all but the
    last if it has a second one. A ``total`` has a rule above it. ``level`` indents the first cell.
    """

    cells: tuple[Text, ...]
    look: RowLook = "plain"
    level: int = 0

    @classmethod
    def of(cls, *cells: Span | Text, look: RowLook = "plain", level: int = 0) -> "Row":
        """Return a row of these cells, each a text or a single span."""
        return cls(tuple(c if isinstance(c, tuple) else (c,) for c in cells), look, level)


class Table(Struct, frozen=True):
    """A table with a caption above it; without a ``name`` it has no number and no caption."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    name: str = ""
    caption: Text = ()


class Figure(Struct, frozen=True):
    """A picture with a caption below it.

    Attributes:
        picture: its name in ``ReportDocument.pictures``.
        name: the name for references.
        caption: the caption.
        alt: alternative text for screen readers.
        width: fraction of the text width.
    """

    picture: str
    name: str
    caption: Text
    alt: str
    width: float = 1.0


class FormulaBlock(Struct, frozen=True):
    """A formula: lines in Typst's notation, a sentence on the symbols, notes and the source.

    With a ``name`` it has a number, which ``See`` shows as ``Equation 5.3``.
    """

    title: str
    about: Text
    summary: str
    maths: tuple[str, ...]
    where: Text
    notes: tuple[str, ...]
    source: str
    name: str = ""


class SumTerm(Struct, frozen=True):
    """A term of a sum: sign ("" for the first), symbols, numbers and value."""

    sign: str
    letters: str
    numbers: str
    value: str


class Sum(Struct, frozen=True):
    """A count in three lines, in symbols, numbers and values, and its result.

    Attributes:
        title: what is counted.
        terms: empty if no formula was found, see ``reason``.
        result: the text after the equals sign.
        is_proven: whether the result was verified, shown as a tick.
        reason: why there are no terms.
    """

    title: str
    terms: tuple[SumTerm, ...]
    result: str
    is_proven: bool = False
    reason: str = ""

    @classmethod
    def of(cls, title: str, steps: CountSteps, result: str, *, is_proven: bool = False) -> "Sum":
        """Return the sum of a formula's steps."""
        terms = tuple(SumTerm(*term.texts) for term in steps.terms)
        return cls(title, terms, result, is_proven)


class Answer(Struct, frozen=True):
    """A common question: the answer, what this run shows, and the source."""

    question: str
    text: str
    measured: str
    source: str


class TokenBox(Struct, frozen=True):
    """A token with a label under it; ``is_second`` for a token of the second text."""

    text: str
    under: str
    is_second: bool = False


class Tokens(Struct, frozen=True):
    """The tokens of a text."""

    tokens: tuple[TokenBox, ...]


class Listing(Struct, frozen=True):
    """Preformatted lines."""

    lines: tuple[str, ...]


class Points(Struct, frozen=True):
    """A bulleted list."""

    points: tuple[Text, ...]


class Entry(Struct, frozen=True):
    """A work of the bibliography: key, reference and link."""

    key: str
    text: str
    link: str = ""


class Bibliography(Struct, frozen=True):
    """The cited works, sorted by author."""

    entries: tuple[Entry, ...]


Block = (
    Paragraph
    | Facts
    | Table
    | Figure
    | FormulaBlock
    | Sum
    | Answer
    | Tokens
    | Listing
    | Points
    | Bibliography
)


Numbering = Literal["chapter", "appendix", "none"]
"""How a chapter is numbered: 1, 2, 3 …, A, B, C …, or not at all."""


class Section(Struct, frozen=True):
    """A chapter or a section of one; ``name`` is for references and ``--sections``.

    ``numbering`` is that of a chapter; its sections follow it.
    """

    name: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple["Section", ...] = ()
    numbering: Numbering = "chapter"


def strings_in(value: object) -> Iterator[str]:
    """Yield all strings in a block, a section or the data of a document, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings_in(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from strings_in(each)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from strings_in(getattr(value, name))
