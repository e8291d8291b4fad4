"""Singular values on a logarithmic axis that goes as far down as they do."""

from collections.abc import Sequence
from math import log10

from PySide6.QtWidgets import QWidget

from bertviewer.plots.line_plot import LinePlot

SMALLEST = 1e-300
"""Less than this is 0 but for rounding, and stands nowhere on a logarithmic axis."""


class SpectrumPlot(LinePlot):
    """Lines of positive values, whatever their powers of ten; what is not positive is left out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.getPlotItem().getAxis("left").lowest = -300

    def _heights(self, values: Sequence[float | None]) -> Sequence[float | None]:
        return tuple(
            log10(value) if value is not None and value > SMALLEST else None for value in values
        )
