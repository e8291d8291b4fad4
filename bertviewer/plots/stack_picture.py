"""Painting of a model as a stack of blocks."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from bertviewer.charts.stack_picture import stack_blocks
from bertviewer.charts.theme import Theme
from bertviewer.core.schema.outline import Outline

STRENGTH = 0.72
"""The fraction of its hue that a block has: full hues would dominate a page of pictures."""


def paint_stack(outline: Outline, painter: QPainter, room: QRectF, theme: Theme) -> None:
    """Paint the blocks of a model into a rectangle."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for block in stack_blocks(outline, room.width(), room.height()):
        box = QRectF(room.x() + block.x, room.y() + block.y, block.width, block.height)
        if block.is_hollow:
            painter.setPen(QPen(QColor(theme.border(block.part)), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
        else:
            painter.fillRect(box, QColor(theme.shade(block.part, STRENGTH)))
    painter.restore()
