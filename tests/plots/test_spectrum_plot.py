"""Singular values on a logarithmic axis."""

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.charts.tensor_charts import spectrum_chart
from bertviewer.core.tensors.spectrum import Spectrum
from bertviewer.plots.line_plot import SpectrumPlot


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
    axis = plot.area.getAxis("left")
    heights = axis.logTickValues(low, high, 300, [])[0][1]
    labels = axis.logTickStrings(heights, 1, 1)
    assert labels == ["0.001", "0.01", "0.1", "1", "10", "100"]
