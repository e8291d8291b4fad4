"""What the map's colours and figures can be of."""

from typing import Literal

from msgspec import Struct

from bertviewer.core.schema.statistics import STATISTIC_NAMES
from bertviewer.core.util.numbers import number_text, short_count

Kind = Literal["part", "parameters", "macs", "statistic", "difference", "check", "change"]

COUNTED = ("parameters", "macs")
"""Kinds that are counts."""
SPREAD = (*COUNTED, "change")
"""Kinds of which there are many between few: their colours go by powers of ten."""
MEASURED = ("statistic", "difference")
"""Kinds that need a run."""


class Measure(Struct, frozen=True):
    """What is shown.

    ``statistic`` is one of ``STATISTIC_NAMES``, ``other`` what the model is called that a change
    leads to.
    """

    kind: Kind = "part"
    statistic: str = ""
    other: str = ""


PART = Measure("part")
PARAMETERS = Measure("parameters")
MACS = Measure("macs")
CHECK = Measure("check")
STATISTICS = tuple(Measure("statistic", name) for name in STATISTIC_NAMES)
DIFFERENCES = tuple(Measure("difference", name) for name in STATISTIC_NAMES)


def figure_text(measure: Measure, value: float | None) -> str:
    """Return a figure as it is written into a box, empty for none."""
    if value is None:
        return ""
    if measure.kind in COUNTED:
        # In a box nothing is broken into lines, and only plain signs are printed.
        return short_count(round(value)).replace("\N{NO-BREAK SPACE}", " ")
    if measure.kind == "check":
        return "✓" if value >= 1 else "✗"
    text = number_text(value, 3)
    if measure.kind == "difference":
        return f"+{text}" if value > 0 else text
    return text


def share_text(share: float) -> str:
    """Return a share in percent, with no more digits than say something."""
    percent = 100 * share
    if percent >= 9.95:
        return f"{percent:.0f}%"
    if percent >= 0.095 or not percent:
        return f"{percent:.1f}%" if percent else "0%"
    return "<0.1%"
