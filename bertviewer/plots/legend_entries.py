"""What the legend of lines names: the lines, or, of two runs, each run and each thing once."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtGui import QBrush, QColor, QPen

from bertviewer.charts.chart import Line
from bertviewer.plots.legend import Entry
from bertviewer.plots.theme import PlotTheme


def legend_entries(
    lines: Sequence[Line], entries: Sequence[Entry], theme: PlotTheme
) -> list[Entry]:
    """Return the names for a legend of lines, of each of which ``entries`` has name and look.

    Where several things are drawn for each of two runs, a name for each line would be too many:
    a run is told by how its lines are drawn, and a thing by its colour.
    """
    things: dict[str, Entry] = {}
    runs: dict[str, Entry] = {}
    for line, entry in zip(lines, entries, strict=True):
        things.setdefault(line.thing, replace(entry, label=line.thing))
        runs.setdefault(line.run, _of_run(line, entry, QColor(theme.foreground)))
    if len(runs) < 2 or len(things) < 2:
        return list(entries)
    return [*runs.values(), *things.values()]


def _of_run(line: Line, entry: Entry, color: QColor) -> Entry:
    """Return a run's name with the look of one of its lines, in the colour of texts."""
    pen, edge, brush = QPen(entry.pen), QPen(entry.edge), QBrush(entry.brush)
    pen.setColor(color)
    if line.style == "dashed":
        edge.setColor(color)
    else:
        brush.setColor(color)
    return Entry(line.run, pen, entry.symbol and "o", brush, edge)
