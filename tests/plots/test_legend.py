"""Legends: rows of names, which are cut where room is short."""

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Line
from bertviewer.charts.theme import LIGHT
from bertviewer.plots.legend import MAX_HEIGHT, Entry, Legend
from bertviewer.plots.line_plot import LinePlot
from tests.plots.test_line_plot import chart

pytestmark = pytest.mark.usefixtures("qapp")


def arranged(names: list[str], width: float, height: float) -> Legend:
    legend = Legend([Entry(name, QPen(), "o", QBrush(), QPen()) for name in names], LIGHT)
    legend.arrange(width, height)
    return legend


WORDS = ["suspension", "diagnostic", "temper"]


def test_names_that_fit_are_whole() -> None:
    legend = arranged(WORDS, 500, 200)
    assert legend.size[1] < 30
    assert legend.rows() == [WORDS]
    assert not legend.is_cut
    legend = arranged(WORDS, 220, 300)
    assert legend.rows() == [WORDS[:2], WORDS[2:]]


def test_a_low_plot_has_few_rows_of_cut_names() -> None:
    legend = arranged(WORDS, 130, 110)
    assert legend.size[1] <= MAX_HEIGHT * 110
    first, second = legend.rows()
    assert [name[:2] for name in (*first, *second)] == ["su", "di", "te"]
    assert first[0].endswith("…")
    assert legend.labels == tuple(WORDS)
    assert legend.is_cut


def test_names_are_cut_no_more_than_helps() -> None:
    names = ["B · temper", "A · temper"]
    assert arranged(names, 140, 100).rows() == [[name] for name in names]
    assert [len(row) for row in arranged(names, 140, 30).rows()] == [2]
    # A few letters remain in a narrow plot.
    assert [row[0][0] for row in arranged(WORDS, 75, 500).rows()] == ["s", "d", "t"]


def test_cut_names_stay_distinct() -> None:
    legend = arranged(["attention.output.dense", "attention.output.LayerNorm"], 120, 100)
    texts = [name for row in legend.rows() for name in row]
    assert len(set(texts)) == 2
    assert texts[1].endswith("rm")


def test_each_part_of_a_name_is_cut() -> None:
    names = [
        f"{stack} · {kind} sentence" for stack in ("encoder", "decoder") for kind in ("a", "b")
    ]
    legend = arranged(names, 150, 60)
    texts = [name for row in legend.rows() for name in row]
    assert len(set(texts)) == 4
    for text, name in zip(texts, names, strict=True):
        for part, whole in zip(text.split(" · "), name.split(" · "), strict=True):
            assert whole.startswith(part.rstrip("…"))
            assert part


def test_cut_names_are_in_full_at_their_position(window: QWidget) -> None:
    plot = LinePlot(window)
    plot.show_chart(chart(*(Line(name, (1.0, 2.0)) for name in WORDS)))
    for width, names in ((170, "suspension\ndiagnostic\ntemper"), (600, "")):
        plot.resize(width, 130)
        at = plot.layout_of_axes().rect.topLeft() + QPointF(20, 8)
        assert plot.name_at(at) == names
        assert plot.name_at(QPointF(at.x(), 120)) == ""


def test_longer_numbers_leave_names_less_room(window: QWidget) -> None:
    plot = LinePlot(window)
    rows = []
    for unit in (1.0, 1.234567e-5, 1.0):
        plot.show_chart(chart(*(Line(name, (unit, 1.00001 * unit)) for name in WORDS)))
        legend = Legend(plot.legend.entries, LIGHT)
        needed = next(n for n in range(900) if len(_rows(legend, n)) == 1)
        plot.resize(needed + 60, 300)
        assert plot.legend.size[0] <= plot.layout_of_axes().rect.width()
        rows.append(len(plot.legend.rows()))
    assert rows[0] == rows[2]


def _rows(legend: Legend, width: float) -> list[list[str]]:
    legend.arrange(width, 300)
    return legend.rows()
