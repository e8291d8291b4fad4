"""Typst's mathematics as MathML, which browsers show and other formats are made from."""

import json
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from bertviewer.report.typst_files import compiled

_PAGE = b"""\
#for (source, is-block) in json("data.json") {
  math.equation(block: is-block, eval(source, mode: "math"))
}
"""
_ELEMENT = re.compile(r"<math\b.*?</math>", re.DOTALL)


class Line(Struct, frozen=True):
    """Mathematics as the program writes it, on a line of its own or between words."""

    source: str
    is_block: bool = False


def mathml_of(lines: Iterable[Line]) -> Mapping[Line, str]:
    """Return a MathML element, well-formed XML, for each line; each is set once.

    Raises:
        ValueError: Typst does not give one element for each line.
    """
    wanted = list(dict.fromkeys(lines))
    files = {
        "main.typ": _PAGE,
        "data.json": json.dumps([[line.source, line.is_block] for line in wanted]).encode(),
    }
    (page,) = compiled(files, format="html")
    return dict(zip(wanted, _ELEMENT.findall(page.decode()), strict=True))
