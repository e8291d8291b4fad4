"""Typst's formulas as MathML."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from bertviewer.report.blocks import FormulaBlock, Maths
from bertviewer.report.document import ReportDocument
from bertviewer.report.typst_compiler import compiled

_PAGE = b"""\
#for (source, is-block) in json("data.json") {
  math.equation(block: is-block, eval(source, mode: "math"))
}
"""
_MATHML = re.compile(r"<math\b.*?</math>", re.DOTALL)


class MathLine(Struct, frozen=True):
    """A formula in Typst's notation, displayed on its own line or inline."""

    source: str
    is_block: bool = False


def mathml_of(lines: Iterable[MathLine]) -> Mapping[MathLine, str]:
    """Return each formula as a MathML element, which is well-formed XML.

    Raises:
        ValueError: Typst does not return one element for each formula.
    """
    wanted = list(dict.fromkeys(lines))
    files = {
        "main.typ": _PAGE,
        "data.json": json.dumps([[line.source, line.is_block] for line in wanted]).encode(),
    }
    (page,) = compiled(files, format="html")
    return dict(zip(wanted, _MATHML.findall(page.decode()), strict=True))


def math_lines(value: object) -> Iterator[MathLine]:
    """Yield all formulas in a document or a part of it."""
    match value:
        case ReportDocument():
            yield from math_lines((value.front, value.chapters))
        case Maths(source):
            yield MathLine(source)
        case tuple():
            for each in value:
                yield from math_lines(each)
        case Struct():
            if isinstance(value, FormulaBlock):
                yield from (MathLine(source, is_block=True) for source in value.maths)
            for name in value.__struct_fields__:
                yield from math_lines(getattr(value, name))
