"""The element in which what was given and what was recomputed differ the most."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from bertviewer.charts.tensor_charts import position_text
from bertviewer.charts.theme import GRID
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.tensors.values import NamedValues
from bertviewer.core.util.numbers import number_text
from bertviewer.ui.widgets.flat_button import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import in_row, named


class WorstLine(QWidget):
    """Says how large the difference is, where, and what rounding may do; ``wanted`` goes there."""

    wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._text = named(plain_label(""), "largestDifferenceText")
        button = flat_button(
            "largestDifference",
            self.tr("Go to element"),
            self.tr("Go to the element with the largest difference"),
        )
        button.clicked.connect(self.wanted)
        in_row((self._text, 1), button, on=self, margins=(4 * GRID, 0, 2 * GRID, 0))
        self.hide()

    def show_worst(self, found: NamedValues | None) -> None:
        """Show it; without a check there is nothing to be seen."""
        worst = None if found is None else found.worst
        self.setVisible(worst is not None)
        if found is None or worst is None:
            self._text.clear()
            return
        where = position_text(worst.index, found.axes)
        place = " ".join(filter(None, (shape_text(worst.index), where)))
        size = number_text(abs(worst.difference), 3)
        tolerance = number_text(worst.tolerance, 3)
        text = self.tr("Max difference {0} at {1}, tolerance {2}")
        self._text.setText(text.format(size, place, tolerance))
