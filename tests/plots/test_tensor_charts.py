import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.reduction import tensor_map
from bertviewer.core.tensors.spectrum import Spectrum
from bertviewer.plots.spectrum_plot import SpectrumPlot
from bertviewer.plots.tensor_charts import map_chart, spectrum_chart
from bertviewer.plots.zoom_plot import ZoomPlot
from tests.core.tensors.made_up import in_memory, matrix

VALUES = np.random.default_rng(2).normal(size=(40, 30))


def test_a_map_names_rows_and_columns_as_the_tensor_does() -> None:
    part = Matrix(in_memory(VALUES), rows=(10, 30), columns=(5, 25))
    exact = map_chart(tensor_map(part, (2, 6), (0, 3)), part, "mean")
    assert exact.rows == ("12", "13", "14", "15")
    assert exact.columns == ("5", "6", "7")
    assert exact.text(1, 2) == f"row 13, column 7: {VALUES[13, 7]:.7g}".replace("-", "−")
    assert exact.is_signed
    assert exact.is_top_down
    blocks = map_chart(tensor_map(part, (0, 20), (0, 20), most=5), part, "extreme")
    assert blocks.rows == ("10", "14", "18", "22", "26")
    block = VALUES[14:18, 21:25].ravel()
    value = block[np.abs(block).argmax()]
    assert blocks.text(1, 4) == f"row 14–17, column 21–24: {value:.7g}".replace(" -", " −")
    assert blocks.value_title == "extreme"


def test_an_outlier_does_not_pale_the_colours_of_the_others() -> None:
    values = VALUES.copy()
    values[0, 0] = 1e6
    whole = matrix(values)
    chart = map_chart(tensor_map(whole, (0, 40), (0, 30)), whole, "mean")
    assert chart.levels is not None
    low, high = chart.levels
    assert low == -high
    assert high < 1000


def test_what_is_never_negative_has_plain_colours() -> None:
    positive = matrix(np.abs(VALUES))
    chart = map_chart(tensor_map(positive, (0, 40), (0, 30)), positive, "mean")
    assert not chart.is_signed
    for odd in (np.zeros((3, 3)), np.full((3, 3), np.nan)):
        chart = map_chart(tensor_map(matrix(odd), (0, 3), (0, 3)), matrix(odd), "mean")
        assert chart.levels is None


def test_singular_values_stand_on_a_logarithmic_axis(qapp: QApplication, qtbot: QtBot) -> None:
    plot = SpectrumPlot()
    qtbot.addWidget(plot)
    chart = spectrum_chart(Spectrum(np.array([100.0, 1.0, 0.001, 0.0]), 4))
    plot.show_chart(chart)
    plot.resize(400, 300)
    assert chart.ticks == ("1", "2", "3", "4")
    low, high = plot.y_range()
    assert low == pytest.approx(-3, abs=0.5)
    assert high == pytest.approx(2, abs=0.5)
    axis = plot.getPlotItem().getAxis("left")
    heights = axis.logTickValues(low, high, 300, [])[0][1]
    labels = axis.logTickStrings(heights, 1, 1)
    assert labels == ["0.001", "0.01", "0.1", "1", "10", "100"]


def test_the_wheel_and_a_drag_tell_what_is_wished_for(qapp: QApplication, qtbot: QtBot) -> None:
    plot = ZoomPlot()
    qtbot.addWidget(plot)
    plot.resize(400, 300)
    plot.show()
    whole = matrix(VALUES)
    plot.show_chart(map_chart(tensor_map(whole, (0, 40), (0, 30)), whole, "mean"))
    qapp.processEvents()
    zooms: list[tuple[float, float, int]] = []
    drags: list[tuple[float, float]] = []
    plot.zoomed.connect(lambda x, y, notches: zooms.append((x, y, notches)))
    plot.dragged.connect(lambda x, y: drags.append((x, y)))
    box = plot.getPlotItem().vb.sceneBoundingRect()
    middle = plot.mapFromScene(box.center())
    for delta in (60, 60, -240):
        event = QWheelEvent(
            QPointF(middle), QPointF(plot.mapToGlobal(middle)), QPoint(), QPoint(0, delta),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        plot.wheelEvent(event)
    assert [zoom[2] for zoom in zooms] == [1, -2]
    assert zooms[0][:2] == pytest.approx((0.5, 0.5), abs=0.02)
    viewport = plot.viewport()
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=middle)
    there = middle + QPoint(int(box.width() / 4), 0)
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=there)
    assert len(drags) == 1
    assert drags[0] == pytest.approx((0.25, 0), abs=0.02)
