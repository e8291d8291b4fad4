"""Draws a formula that Typst has set, crisp at any zoom and in any colour."""

from PySide6.QtCore import QEvent, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.core.formulas.formula import Formula
from bertviewer.report.typesetting import formula_svg

MATHS_SIZE = 15.0  # points on Typst's page, which are pixels here
MAX_WIDTH = 760


class FormulaView(QWidget):
    """As wide as it is given, up to a readable line; as high as the formula needs."""

    def __init__(self, formula: Formula, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._formula = formula
        self._renderer = QSvgRenderer(self)
        self._set_for: tuple[object, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # For screen readers, which cannot see the drawing.
        self.setAccessibleName(formula.title)
        self.setAccessibleDescription("; ".join(formula.maths))

    def sizeHint(self) -> QSize:
        """Return the formula's size; Qt calls it."""
        return self._renderer.defaultSize()

    def minimumSizeHint(self) -> QSize:
        """Return the least useful size; Qt calls it."""
        return QSize(200, 20)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Set the formula for the new width; Qt calls it."""
        super().resizeEvent(event)
        self._set()

    def changeEvent(self, event: QEvent) -> None:
        """Set the formula in the new colours after a change of theme; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._set()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw; Qt calls it."""
        painter = QPainter(self)
        self._renderer.render(painter, QRectF(0, 0, *self._renderer.defaultSize().toTuple()))

    def _set(self) -> None:
        width = min(self.width(), MAX_WIDTH)
        palette = self.palette()
        color = palette.color(QPalette.ColorRole.Text).name()
        muted = palette.color(QPalette.ColorRole.PlaceholderText).name()
        wanted = (width, color, muted)
        if wanted == self._set_for:
            return
        self._set_for = wanted
        self._renderer.load(formula_svg(self._formula, width, MATHS_SIZE, color, muted))
        self.setFixedHeight(self._renderer.defaultSize().height())
        self.update()
