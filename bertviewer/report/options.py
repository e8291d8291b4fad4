"""Options of a report, shared by the command, the dialog and scripts."""

import os
import re
from datetime import UTC, date, datetime
from typing import Literal, get_args

from msgspec import Struct

from bertviewer.charts.theme import GREY, PAPER, Theme
from bertviewer.core.util.errors import UserError

Paper = Literal["a4", "letter"]
PAPERS: tuple[Paper, ...] = get_args(Paper)
Appendix = Literal["folded", "full"]
APPENDICES: tuple[Appendix, ...] = get_args(Appendix)
STATISTIC = "std"
"""The statistic that is plotted by layer by default."""
ENDS, ALL = "first and last", "all"
"""What ``Options.layers`` says for the first and the last layer (also if empty), and for all."""
_RANGE = re.compile(r"(\d{1,6})\s*(?:[-–]\s*(\d{1,6}))?")


class Options(Struct, frozen=True):
    """What a user chooses about a report.

    Attributes:
        sections: names of the chapters; ``None`` for all that apply.
        layers: layers to show in full, such as "0, 5" or "2-4"; "" for the first and the last.
        statistic: the statistic to plot by layer.
        paper: page size.
        title: "" for the model's name.
        author: author below the title.
        grey: whether to use shades of grey only.
        corpus: folder of a corpus of the model.
        appendix: whether the lists of modules and parameters fold identical layers into one.
        format: name of the file format; "" to choose it by the file's extension.
    """

    sections: tuple[str, ...] | None = None
    layers: str = ""
    statistic: str = STATISTIC
    paper: Paper = "a4"
    title: str = ""
    author: str = ""
    grey: bool = False
    corpus: str = ""
    appendix: Appendix = "folded"
    format: str = ""

    @property
    def theme(self) -> Theme:
        """The colours of pages and figures."""
        return GREY if self.grey else PAPER


def parse_layers(text: str) -> tuple[tuple[int, int], ...] | None:
    """Return the ranges of layers in a text, first and last included; ``None`` for all layers.

    Raises:
        UserError: the text has no layer numbers.
    """
    words = text.strip().casefold()
    if words in ("", ENDS):
        return ()
    if words == ALL:
        return None
    found = [_RANGE.fullmatch(part.strip()) for part in re.split(r"[,;]", words)]
    if not all(found):
        raise UserError(f"write layer numbers, for example 0, 5 or 2-4, or {ALL}")
    return tuple((int(each[1]), int(each[2] or each[1])) for each in found if each is not None)


def layer_numbers(text: str, count: int) -> tuple[int, ...] | None:
    """Return the numbers of the layers in a text; ``None`` for the first and the last.

    Raises:
        UserError: the text has no layer numbers, or the model does not have ``count`` of them.
    """
    ranges = parse_layers(text)
    if ranges is None:
        return tuple(range(count))
    if not ranges:
        return None
    if not all(first <= last < count for first, last in ranges):
        layers = f"layers 0 to {count - 1}" if count > 1 else "only layer 0"
        raise UserError(f"this model has {layers}")
    return tuple(sorted({number for first, last in ranges for number in range(first, last + 1)}))


def today() -> date:
    """Return the date of a report: today, or ``SOURCE_DATE_EPOCH`` for reproducible files."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isdigit():
        return datetime.fromtimestamp(int(epoch), UTC).date()
    return datetime.now().astimezone().date()
