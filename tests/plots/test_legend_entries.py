"""Names of lines over a plot; of two runs, each run and each thing once."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.comparison import line_difference, line_overlay
from bertviewer.charts.theme import DARK
from bertviewer.plots.line_plot import LinePlot
from tests.plots.lines import chart, lines_in

BANK, RIVER, SEA = (Line(name, (1.0, 2.0)) for name in ("bank", "river", "sea"))


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def names(plot: LinePlot, shown: LineChart) -> tuple[str, ...]:
    plot.show_chart(shown)
    labels: tuple[str, ...] = plot.legend.labels()
    return labels


def test_several_things_in_two_runs_are_named_once(plot: LinePlot) -> None:
    both = line_overlay(chart(BANK, SEA), chart(BANK, RIVER))
    assert names(plot, both) == ("B", "A", "bank", "sea", "river")
    # What is said of a point, and the data to take along, tell both.
    assert [line.label for line in both.lines] == ["B · bank", "B · sea", "A · bank", "A · river"]
    columns = ("B · bank, std", "B · sea, std", "A · bank, std", "A · river, std")
    assert both.table()[0] == ("Layer", *columns)


def test_a_run_is_told_by_its_lines_and_a_thing_by_its_colour(plot: LinePlot) -> None:
    plot.set_theme(DARK)
    plot.show_chart(line_overlay(chart(BANK, RIVER), chart(BANK, RIVER)))
    b, a, bank, river = plot.legend.entries
    assert b.pen.color().name() == a.pen.color().name() == DARK.text
    assert (b.brush.color().name(), a.brush.color().name()) == (DARK.text, DARK.surface)
    assert (b.pen.style(), a.pen.style()) == (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine)
    assert [thing.pen.color().name() for thing in (bank, river)] == list(DARK.series[:2])
    assert [thing.pen.style() for thing in (bank, river)] == [Qt.PenStyle.SolidLine] * 2
    assert {b.symbol, a.symbol} == {"o"}
    assert bank.symbol != river.symbol


def test_one_thing_in_two_runs_has_two_names(plot: LinePlot) -> None:
    assert names(plot, line_overlay(chart(BANK), chart(BANK))) == ("B · bank", "A · bank")


def test_one_run_has_a_name_for_each_line(plot: LinePlot) -> None:
    assert names(plot, chart(BANK, SEA)) == ("bank", "sea")
    assert names(plot, line_difference(chart(BANK, SEA), chart(BANK, SEA))) == ("bank", "sea")
    # Even where no line is A's.
    assert names(plot, line_overlay(chart(BANK, SEA), chart())) == ("B · bank", "B · sea")


def test_without_symbols_there_are_none_in_the_legend(plot: LinePlot) -> None:
    long = [Line(name, tuple(map(float, range(101)))) for name in "ab"]
    plot.show_chart(line_overlay(chart(*long), chart(*long)))
    assert {entry.symbol for entry in plot.legend.entries} == {""}
