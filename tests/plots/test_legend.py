"""The names over a plot: in few rows, cut where they must be, and told in full under the mouse."""

from functools import partial

import pyqtgraph as pg
import pytest
from PySide6.QtGui import QBrush, QFont, QPen
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Line
from bertviewer.charts.theme import LIGHT
from bertviewer.plots.legend import MOST_HEIGHT, Entry, Legend
from bertviewer.plots.line_plot import LinePlot
from tests.plots.lines import chart


@pytest.fixture
def plot(qtbot: QtBot) -> LinePlot:
    plot = LinePlot()
    qtbot.addWidget(plot)
    return plot


@pytest.fixture
def legend(plot: LinePlot) -> Legend:
    legend: Legend = plot.legend
    return legend


def arranged(legend: Legend, names: list[str], width: float, height: float) -> float:
    entries = [Entry(name, pg.mkPen("b"), "o", QBrush(), QPen()) for name in names]
    legend.set_entries(entries, LIGHT, QFont())
    return legend.arrange(width, height)


WORDS = ["suspension", "diagnostic", "temper"]


def test_names_that_fit_are_whole_and_have_no_tip(legend: Legend) -> None:
    assert arranged(legend, WORDS, 500, 200) < 30
    assert legend.rows() == [WORDS]
    assert legend.toolTip() == ""
    # Two rows are no harm in a high plot.
    arranged(legend, WORDS, 220, 300)
    assert legend.rows() == [WORDS[:2], WORDS[2:]]


def test_a_low_plot_has_few_rows_of_cut_names(legend: Legend) -> None:
    height = arranged(legend, WORDS, 130, 110)
    assert height <= MOST_HEIGHT * 110
    first, second = legend.rows()
    assert [name[:2] for name in (*first, *second)] == ["su", "di", "te"]
    assert first[0].endswith("…")
    assert legend.labels() == tuple(WORDS)
    assert legend.toolTip() == "<p>suspension<br>diagnostic<br>temper</p>"


def test_names_are_cut_no_more_than_helps(legend: Legend) -> None:
    # Each has a row of its own anyway.
    arranged(legend, ["B · temper", "A · temper"], 140, 100)
    assert legend.rows() == [["B · temper"], ["A · temper"]]
    arranged(legend, ["B · temper", "A · temper"], 140, 30)
    assert [len(row) for row in legend.rows()] == [2]


def test_a_narrow_plot_leaves_some_letters(legend: Legend) -> None:
    arranged(legend, WORDS, 75, 500)
    assert [row[0][0] for row in legend.rows()] == ["s", "d", "t"]


def test_what_is_left_of_names_tells_them_apart(legend: Legend) -> None:
    arranged(legend, ["attention.output.dense", "attention.output.LayerNorm"], 120, 100)
    texts = [name for row in legend.rows() for name in row]
    assert len(set(texts)) == 2
    assert texts[1].endswith("rm")


def test_of_names_in_parts_each_part_is_cut(legend: Legend) -> None:
    names = [
        f"{stack} · {kind} sentence" for stack in ("encoder", "decoder") for kind in ("a", "b")
    ]
    arranged(legend, names, 150, 60)
    texts = [name for row in legend.rows() for name in row]
    assert len(set(texts)) == 4
    for text, name in zip(texts, names, strict=True):
        for part, whole in zip(text.split(" · "), name.split(" · "), strict=True):
            assert whole.startswith(part.rstrip("…"))
            assert part


def test_names_get_back_the_room_that_longer_numbers_took(window: QWidget, qtbot: QtBot) -> None:
    plot = LinePlot(window)
    plot.show()
    plot.show_chart(chart(*(Line(name, (1.0, 2.0)) for name in WORDS)))
    left, legend = plot.area.getAxis("left"), plot.legend
    needed = next(n for n in range(900) if legend.arrange(n, 300) and len(legend.rows()) == 1)
    plot.resize(needed + 100, 300)

    def has_rows(count: int) -> bool:
        return len(legend.rows()) == count

    for width, rows in ((40, 1), (140, 2), (40, 1)):
        left.setWidth(width)
        qtbot.waitUntil(partial(has_rows, rows))


def test_a_name_is_never_markup(legend: Legend) -> None:
    arranged(legend, ["<b>bold</b> word", "&amp; word", "other word"], 100, 60)
    tip = "<p>&lt;b&gt;bold&lt;/b&gt; word<br>&amp;amp; word<br>other word</p>"
    assert legend.toolTip() == tip
