"""The title of an axis: where it stands."""

import pytest
from PySide6.QtWidgets import QWidget

from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.number_axis import NumberAxis
from tests.plots.lines import OUTPUT, chart, lines_in


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def test_another_title_stands_in_the_middle_too(plot: LinePlot) -> None:
    axis = plot.area.getAxis("left")
    assert isinstance(axis, NumberAxis)
    for title in ("std", "mean ± std, min, max", "std"):
        plot.show_chart(chart(OUTPUT, title=title))
        assert axis.title == title
        label = axis.mapRectFromItem(axis.label, axis.label.boundingRect())
        assert label.center().y() == pytest.approx(axis.size().height() / 2, abs=2)


def test_a_title_without_room_keeps_its_end(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT, title="Cosine to the layer before it, B − A"))
    plot.resize(640, 190)
    plot.grab()
    text = plot.area.getAxis("left").labelText
    assert "…" in text
    assert text.startswith("Cosine")
    assert text.endswith("B − A")
