"""Draws a formula that Typst has set, crisp at any zoom and in any colour."""

from PySide6.QtCore import QEvent, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QSizePolicy, QWidget

from bertviewer.core.formulas.formula import Formula
from bertviewer.plots.fonts import type_scale
from bertviewer.report.typesetting import formula_svg

MATHS_SIZE, SMALL_SIZE = 15.0, 13.0  # points on Typst's page, which are pixels here
SPACING, SMALL_SPACING = 1.1, 0.4
MAX_WIDTH = 760


class FormulaView(QWidget):
    """As wide as it is given, up to a readable line; as high as the formula needs.

    One that ``is_small`` stands among other things, in a narrow pane.
    """

    def __init__(self, formula: Formula, *, is_small: bool = False) -> None:
        super().__init__()
        self._formula = formula
        self._is_small = is_small
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
        """Set the formula in new colours, or in type of another size; Qt calls it."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._set()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw; Qt calls it."""
        painter = QPainter(self)
        self._renderer.render(painter, QRectF(0, 0, *self._renderer.defaultSize().toTuple()))

    def _set(self) -> None:
        scale = type_scale()
        width = min(self.width(), round(MAX_WIDTH * scale))
        palette = self.palette()
        color = palette.color(QPalette.ColorRole.Text).name()
        muted = palette.color(QPalette.ColorRole.PlaceholderText).name()
        wanted = (width, scale, color, muted)
        if wanted == self._set_for:
            return
        self._set_for = wanted
        size = (SMALL_SIZE if self._is_small else MATHS_SIZE) * scale
        spacing = SMALL_SPACING if self._is_small else SPACING
        svg = formula_svg(self._formula, width, size, color, muted, spacing=spacing)
        self._renderer.load(svg)
        self.setFixedHeight(self._renderer.defaultSize().height())
        self.update()
