"""What can be chosen of a report."""

import os
from datetime import UTC, date, datetime
from typing import Literal, get_args

from msgspec import Struct

from bertviewer.charts.theme import GREY, PAPER, Theme
from bertviewer.core.util.errors import UserError

Paper = Literal["a4", "letter"]
PAPERS: tuple[Paper, ...] = get_args(Paper)


class Choices(Struct, frozen=True):
    """How a report is to be.

    Attributes:
        sections: the names of its chapters, ``None`` for all that there is something to tell of.
        paper: the size of its pages.
        title: ``""`` for the model's name.
        author: ``""`` for none.
        is_grey: whether it is for a printer without colours.
        date: the day that it says.
        command: what makes it again on the command line.
    """

    sections: tuple[str, ...] | None = None
    paper: Paper = "a4"
    title: str = ""
    author: str = ""
    is_grey: bool = False
    date: date = date.min
    command: str = ""

    @property
    def theme(self) -> Theme:
        """The colours of its pages and pictures."""
        return GREY if self.is_grey else PAPER


def check_paper(name: str) -> None:
    """Check that there is such a paper.

    Raises:
        UserError: there is none.
    """
    if name not in PAPERS:
        raise UserError(f"unknown paper size {name!r}: choose from {', '.join(PAPERS)}")


def today() -> date:
    """Return the day, or the one of ``SOURCE_DATE_EPOCH``, by which a report can be made again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isdigit():
        return datetime.fromtimestamp(int(epoch), UTC).date()
    return datetime.now().astimezone().date()
