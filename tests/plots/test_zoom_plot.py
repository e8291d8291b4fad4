"""A map that is zoomed and dragged."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.charts.tensor_charts import map_chart
from bertviewer.core.tensors.reduction import tensor_map
from bertviewer.plots.zoom_plot import ZoomPlot
from tests.core.tensors.made_up import matrix

VALUES = np.random.default_rng(2).normal(size=(40, 30))


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
    box = plot.area.vb.sceneBoundingRect()
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
