"""What a report is made of, as plain data: chapters of paragraphs, tables, figures and formulas.

Every format is a reading of these blocks. Texts are tuples of spans: plain words, which no format
reads as markup, and spans that say what they are. Names of tables, figures and chapters are those
that a ``See`` refers to; their numbers come from ``bertviewer.report.numbering``.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from bertviewer.core.formulas.formula import Term


class Code(Struct, frozen=True):
    """A path, a key, a shape, a command: set in type of one width."""

    text: str


class Maths(Struct, frozen=True):
    """A symbol or a short formula in Typst's mathematics, which the program itself wrote."""

    source: str


class Letters(Struct, frozen=True):
    """A formula or a shape in letters, where ``N_e`` is an N with an index."""

    text: str


class Strong(Struct, frozen=True):
    """Words that are read first."""

    text: str


class Muted(Struct, frozen=True):
    """Words that repeat or explain what stands before them."""

    text: str


class See(Struct, frozen=True):
    """A reference to a table, a figure or a chapter, by its name: ``Table 3.1``."""

    name: str


class Tick(Struct, frozen=True):
    """A drawn tick, or a cross: whether something holds."""

    holds: bool


class Bar(Struct, frozen=True):
    """A share, drawn as a bar."""

    share: float


class Break(Struct, frozen=True):
    """A new line within a cell."""


Span = str | Code | Maths | Letters | Strong | Muted | See | Tick | Bar | Break
Text = tuple[Span, ...]
"""A line or a paragraph."""

Look = Literal["plain", "note", "quote", "warning"]
"""How a paragraph stands: as others, in smaller type, as what somebody said, marked."""


class Paragraph(Struct, frozen=True):
    """Some sentences."""

    text: Text
    look: Look = "plain"

    @classmethod
    def of(cls, *text: Span, look: Look = "plain") -> "Paragraph":
        """Return spans as a paragraph."""
        return cls(text, look)


class Facts(Struct, frozen=True):
    """Figures with what they are called, side by side in two columns."""

    pairs: tuple[tuple[str, Text], ...]


class Column(Struct, frozen=True):
    """A column of a table.

    ``share`` is what it takes of the room that is left, 0 for one as wide as its widest cell.
    Numbers of a ``decimal`` one stand on their decimal point. ``unit`` stands in the head.
    """

    title: str
    align: Literal["left", "right", "center", "decimal"] = "left"
    share: float = 0.0
    unit: str = ""


RowLook = Literal["plain", "head", "total"]


class Row(Struct, frozen=True):
    """A row: one cell for each column.

    A ``head`` names the rows after it and has one cell, over all columns but the last if there
    is a second cell. A ``total`` stands under a rule. ``level`` indents the first cell.
    """

    cells: tuple[Text, ...]
    look: RowLook = "plain"
    level: int = 0

    @classmethod
    def of(cls, *cells: Span | Text, look: RowLook = "plain", level: int = 0) -> "Row":
        """Return cells as a row; one that is a single span need not be a text."""
        return cls(tuple(c if isinstance(c, tuple) else (c,) for c in cells), look, level)


class Table(Struct, frozen=True):
    """A table with a caption above it; without ``name`` it has no number and no caption."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    name: str = ""
    caption: Text = ()


class Figure(Struct, frozen=True):
    """A picture with a caption below it.

    ``picture`` is its name among the document's pictures, ``alt`` what it shows, for those who do
    not see it; ``width`` is its share of the text's width.
    """

    picture: str
    name: str
    caption: Text
    alt: str
    width: float = 1.0


class FormulaBlock(Struct, frozen=True):
    """Lines of mathematics (Typst's) with their legend and notes, which never break apart."""

    title: str
    about: Text
    summary: str
    maths: tuple[str, ...]
    terms: tuple[Term, ...]
    notes: tuple[str, ...]
    source: str


class SumTerm(Struct, frozen=True):
    """One term of a sum: its sign, empty for a first one, in letters, in numbers, its value."""

    sign: str
    letters: str
    numbers: str
    value: str


class Sum(Struct, frozen=True):
    """A count in three lines: letters, numbers, values; and what comes out.

    Attributes:
        title: of what it is the count.
        terms: none where no formula was found, for the ``reason``.
        result: the words after the sign of equality.
        is_proven: a tick is set where it is proven equal to the real number.
    """

    title: str
    terms: tuple[SumTerm, ...]
    result: str
    is_proven: bool = False
    reason: str = ""


class Answer(Struct, frozen=True):
    """What a learner asks here, the known answer, what this run shows of it, and after whom."""

    question: str
    text: str
    measured: str
    source: str


class TokenBox(Struct, frozen=True):
    """A token in its box; ``is_second`` for one of the second text."""

    text: str
    under: str
    is_second: bool = False


class Tokens(Struct, frozen=True):
    """A text as the model reads it, token by token."""

    tokens: tuple[TokenBox, ...]


class Listing(Struct, frozen=True):
    """Lines as they are: a command, a structure."""

    lines: tuple[str, ...]


class Points(Struct, frozen=True):
    """Some points, each a text of its own."""

    points: tuple[Text, ...]


class Entry(Struct, frozen=True):
    """A work of the bibliography: its key, and how it is told."""

    key: str
    text: str
    link: str = ""


class Bibliography(Struct, frozen=True):
    """The works that the report refers to, in the order of their authors."""

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


class Section(Struct, frozen=True):
    """A chapter, or a part of one. ``name`` is what it is asked for and referred to by."""

    name: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple["Section", ...] = ()


def words_of(value: object) -> Iterator[str]:
    """Yield all words of a span, a text, a block or a section, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from words_of(one)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from words_of(getattr(value, name))
