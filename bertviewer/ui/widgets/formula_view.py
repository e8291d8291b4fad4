"""View of a formula, typeset by Typst as SVG."""

from PySide6.QtCore import QEvent, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from bertviewer.core.formulas.formula import Formula
from bertviewer.plots.fonts import type_scale
from bertviewer.report.typesetting import formula_svg

MATHS_SIZE, SMALL_SIZE = 15.0, 13.0  # Typst's points, drawn as pixels
SPACING, SMALL_SPACING = 1.1, 0.4
MAX_WIDTH = 760


class FormulaView(QWidget):
    """Draws a formula in the palette's colours, up to ``MAX_WIDTH`` wide.

    ``is_small``: smaller type and spacing, for narrow panes.
    """

    def __init__(self, formula: Formula, *, is_small: bool = False) -> None:
        super().__init__()
        self._formula = formula
        self._is_small = is_small
        self._renderer = QSvgRenderer(self)
        self._rendered_for: tuple[object, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # For screen readers.
        self.setAccessibleName(formula.title)
        self.setAccessibleDescription("; ".join(formula.maths))

    @override
    def sizeHint(self) -> QSize:
        return self._renderer.defaultSize()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(200, 20)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._render()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._render()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._renderer.render(painter, QRectF(0, 0, *self._renderer.defaultSize().toTuple()))

    def _render(self) -> None:
        scale = type_scale()
        width = min(self.width(), round(MAX_WIDTH * scale))
        palette = self.palette()
        color = palette.color(QPalette.ColorRole.Text).name()
        muted = palette.color(QPalette.ColorRole.PlaceholderText).name()
        inputs = (width, scale, color, muted)
        if inputs == self._rendered_for:
            return
        self._rendered_for = inputs
        size = (SMALL_SIZE if self._is_small else MATHS_SIZE) * scale
        spacing = SMALL_SPACING if self._is_small else SPACING
        svg = formula_svg(self._formula, width, size, color, muted, spacing=spacing)
        self._renderer.load(svg)
        self.setFixedHeight(self._renderer.defaultSize().height())
        self.update()
