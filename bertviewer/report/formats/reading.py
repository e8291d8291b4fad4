"""What every format looks up while it reads a document: numbers, mathematics, names."""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from bertviewer.core.formulas.formula import Term
from bertviewer.report.blocks import FormulaBlock, Maths
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.mathml import Line, mathml_of
from bertviewer.report.numbering import Numbered


class Reading(Struct, frozen=True, eq=False):
    """A document with the numbers of all that has one, and its mathematics as MathML."""

    document: ReportDocument
    numbers: Mapping[str, Numbered]
    mathml: Mapping[Line, str]

    @classmethod
    def of(cls, document: ReportDocument) -> "Reading":
        """Return a document with all that its formats look up."""
        texts = (document.front, document.chapters)
        return cls(document, document.numbers, mathml_of(_lines(texts)))


def anchor(name: str) -> str:
    """Return a name as a link's target; those of two names are never the same."""
    return re.sub(r"[^A-Za-z0-9.:-]", lambda letter: f"_{ord(letter[0]):x}_", name)


def _lines(value: object) -> Iterator[Line]:
    """Yield all mathematics anywhere in a value."""
    match value:
        case Maths(source):
            yield Line(source)
        case Term(symbol):
            yield Line(symbol)
        case tuple():
            for one in value:
                yield from _lines(one)
        case _ if isinstance(value, Struct):
            if isinstance(value, FormulaBlock):
                yield from (Line(source, is_block=True) for source in value.maths)
            for name in value.__struct_fields__:
                yield from _lines(getattr(value, name))
