"""Base class of the text formats: visits the blocks and spans of a document."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

from msgspec import Struct

from bertviewer.core.util.text import has_paired_isolates, printable
from bertviewer.report.blocks import (
    Answer,
    Bar,
    Bibliography,
    Block,
    Break,
    Code,
    Column,
    Facts,
    Figure,
    FormulaBlock,
    Letters,
    Listing,
    Maths,
    Muted,
    Paragraph,
    Points,
    Row,
    Section,
    See,
    Span,
    Strong,
    Sum,
    Table,
    Text,
    Tick,
    Tokens,
)
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.bibtex import cite_keys
from bertviewer.report.mathml import MathLine, math_lines, mathml_of

MAX_HEADING = 6
"""The deepest level of headings in HTML and Markdown."""

_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_JOINERS = "\u200c\u200d"  # of Persian words and emoji
_ISOLATES = "\u2066-\u2069"
_KEPT = re.compile(f"([\n\t{_SPACES}{_JOINERS}{_ISOLATES}])")
_ISOLATE = re.compile(f"[{_ISOLATES}]")
_SPACE = re.compile(f"[\n\t{_SPACES}]")
# One letter and an index, as in N_e and d_k, but not a module's name.
_INDEX = re.compile(r"(?<=\b[^\W\d_])_([^\W_]{1,3})\b(?!_)")
_AFTER_DOT = re.compile(r"(?<=[./])(?=\w)")
BETWEEN_WORDS = re.compile(r"(?<=_)(?=\w)|(?<=[a-z])(?=[A-Z])")
_NUMBER = re.compile(r"([-+\N{MINUS SIGN}]?[\d,]+)(.*)")


class Writer(ABC):
    """Writes the blocks of a document in one format.

    ``block`` returns the lines of a block, ``text`` that of spans. A format implements a method
    for each kind of block, which yields lines, and for each kind of span, which returns text.
    """

    def __init__(self, document: ReportDocument) -> None:
        self.document = document
        self.numbers = document.numbers
        self.cite_keys = cite_keys(document.works)
        self._mathml = mathml_of(math_lines(document))

    def mathml(self, source: str, *, is_block: bool = False) -> str:
        """Return a formula of the document as MathML."""
        return self._mathml[MathLine(source, is_block)]

    def text(self, text: Text) -> str:
        """Return a text."""
        return "".join(map(self._span, text))

    def cited(self, text: str, write: Callable[[str], str] | None = None) -> str:
        """Return a text of the program, whose citations link to the bibliography.

        ``write`` writes the parts between them, by default with subscripts.
        """
        parts = self.document.citations.split(text)
        return "".join(
            self.citation(part) if place % 2 else (write or self.letters)(part)
            for place, part in enumerate(parts)
        )

    def block(self, block: Block, level: int = 1) -> Iterator[str]:
        """Yield the lines of a block; ``level`` is the one of a heading in it."""
        match block:
            case Paragraph():
                yield from self.paragraph(block)
            case Facts():
                yield from self.facts(block)
            case Table():
                yield from self.table(block)
            case Figure():
                yield from self.figure(block)
            case FormulaBlock():
                yield from self.formula(block, level)
            case Sum():
                yield from self.sum(block, level)
            case Answer():
                yield from self.answer(block)
            case Tokens():
                yield from self.tokens(block)
            case Listing():
                yield from self.listing(block)
            case Points():
                yield from self.points(block)
            case Bibliography():
                yield from self.bibliography(block)
            case _:
                assert_never(block)

    def _span(self, span: Span) -> str:
        match span:
            case str():
                return self.cited(span, self.words)
            case Code(text):
                return self.code(text)
            case Maths(source):
                return self.maths(source)
            case Letters(text):
                return self.letters(text)
            case Strong(text):
                return self.strong(text)
            case Muted(text):
                return self.muted(text)
            case See(name):
                return self.reference(name)
            case Tick(holds):
                return self.tick(holds)
            case Bar(share):
                return self.bar(share)
            case Break():
                return self.line_break()
            case _:
                assert_never(span)

    # Blocks

    @abstractmethod
    def paragraph(self, block: Paragraph) -> Iterator[str]:
        """Yield the lines of a paragraph."""

    @abstractmethod
    def facts(self, block: Facts) -> Iterator[str]:
        """Yield the lines of names and values."""

    @abstractmethod
    def table(self, block: Table) -> Iterator[str]:
        """Yield the lines of a table."""

    @abstractmethod
    def figure(self, block: Figure) -> Iterator[str]:
        """Yield the lines of a figure."""

    @abstractmethod
    def formula(self, block: FormulaBlock, level: int) -> Iterator[str]:
        """Yield the lines of a formula."""

    @abstractmethod
    def sum(self, block: Sum, level: int) -> Iterator[str]:
        """Yield the lines of a count."""

    @abstractmethod
    def answer(self, block: Answer) -> Iterator[str]:
        """Yield the lines of a common question."""

    @abstractmethod
    def tokens(self, block: Tokens) -> Iterator[str]:
        """Yield the lines of tokens."""

    @abstractmethod
    def listing(self, block: Listing) -> Iterator[str]:
        """Yield the lines of preformatted lines."""

    @abstractmethod
    def points(self, block: Points) -> Iterator[str]:
        """Yield the lines of a bulleted list."""

    @abstractmethod
    def bibliography(self, block: Bibliography) -> Iterator[str]:
        """Yield the lines of the bibliography."""

    # Spans

    @abstractmethod
    def words(self, text: str) -> str:
        """Return plain text."""

    @abstractmethod
    def code(self, text: str) -> str:
        """Return a path, a key or a command."""

    @abstractmethod
    def maths(self, source: str) -> str:
        """Return a formula, inline."""

    @abstractmethod
    def letters(self, text: str) -> str:
        """Return text with subscripts."""

    @abstractmethod
    def strong(self, text: str) -> str:
        """Return bold text."""

    @abstractmethod
    def muted(self, text: str) -> str:
        """Return secondary text."""

    @abstractmethod
    def reference(self, name: str) -> str:
        """Return a reference to a part of the report."""

    @abstractmethod
    def citation(self, key: str) -> str:
        """Return a link to a work of the bibliography."""

    @abstractmethod
    def tick(self, holds: bool) -> str:
        """Return a tick or a cross."""

    @abstractmethod
    def bar(self, share: float) -> str:
        """Return a bar."""

    @abstractmethod
    def line_break(self) -> str:
        """Return a line break."""


def named_formulas(section: Section) -> list[tuple[str, str]]:
    """Return the names and titles of a section's formulas, which are headings below its own."""
    formulas = (block for block in section.blocks if isinstance(block, FormulaBlock))
    return [(block.name, block.title) for block in formulas if block.name]


def anchor(name: str) -> str:
    """Return a name as the target of a link; different names have different anchors."""
    return re.sub(r"[^A-Za-z0-9.:-]", lambda letter: f"_{ord(letter[0]):x}_", name)


def picture_file(name: str, suffix: str) -> str:
    """Return the file name of a picture; ``suffix`` includes the dot."""
    return f"figure-{anchor(name).replace(':', '_3a_')}{suffix}"


def visible(text: str) -> str:
    """Return a text with escapes for characters that are unsafe on a page.

    These move, hide or reverse others, cannot be stored in a file (lone surrogates), or are
    unpaired isolates. Line breaks, tabs, spaces, joiners and paired isolates are kept.
    """
    if text.isprintable():
        return text
    parts = _KEPT.split(text)
    escaped = "".join(part if place % 2 else printable(part) for place, part in enumerate(parts))
    if has_paired_isolates(escaped):
        return escaped
    return _ISOLATE.sub(lambda isolate: printable(isolate[0]), escaped)


def one_line(text: str) -> str:
    """Return the same on one line with plain spaces."""
    return _SPACE.sub(" ", visible(text))


def split_indices(text: str) -> tuple[str, ...]:
    """Split a text into words and, at odd places, the subscripts between them."""
    return tuple(_INDEX.split(text))


def breakable_parts(name: str) -> list[str]:
    """Split a name where a line may end: a path after its dots, another one between its words."""
    return (_AFTER_DOT if "." in name or "/" in name else BETWEEN_WORDS).split(name)


class SplitNumber(Struct, frozen=True):
    """A cell of a decimal column, split before its decimal point."""

    whole: Text
    fraction: Text


def split_number(cell: Text) -> SplitNumber | None:
    """Split a number; ``None`` for a longer text. Words such as NaN have no fraction."""
    match cell:
        case (str() | Strong() | Muted() as span,):
            text = span if isinstance(span, str) else span.text
            number = _NUMBER.fullmatch(text)
            whole, fraction = number.groups() if number else (text, "")
            if isinstance(span, str):
                return SplitNumber((whole,), (fraction,) if fraction else ())
            kind = type(span)
            return SplitNumber((kind(whole),), (kind(fraction),) if fraction else ())
    return None


def widest_fractions(columns: Sequence[Column], rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the longest fraction of each decimal column, "" for other columns."""
    widest = [""] * len(columns)
    for row in rows:
        if row.look == "head":
            continue
        for place, (column, cell) in enumerate(zip(columns, row.cells, strict=True)):
            if column.align == "decimal" and (split := split_number(cell)):
                texts = (
                    s if isinstance(s, str) else getattr(s, "text", "") for s in split.fraction
                )
                widest[place] = max(widest[place], "".join(texts), key=len)
    return tuple(widest)
