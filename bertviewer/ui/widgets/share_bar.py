"""Draws a share as a bar behind its percentage."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from bertviewer.ui.widgets.tables import SHARE_ROLE


class ShareBarDelegate(QStyledItemDelegate):
    """The bar is as long as the share; the text stands on it, readable on either part."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one cell; Qt calls it."""
        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        box = QRectF(option.rect).adjusted(4, 4, -8, -4)
        palette: QPalette = option.palette
        bar = palette.color(QPalette.ColorRole.Accent)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for width, alpha in ((box.width(), 0.10), (box.width() * index.data(SHARE_ROLE), 0.38)):
            bar.setAlphaF(alpha)
            painter.setBrush(bar)
            painter.drawRoundedRect(QRectF(box.x(), box.y(), width, box.height()), 2, 2)
        role = QPalette.ColorRole.Text
        painter.setPen(palette.color(role))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        whole = QRectF(option.rect).adjusted(4, 0, -12, 0)
        painter.drawText(whole, int(right), text)
        painter.restore()
