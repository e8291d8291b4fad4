"""Combo box that is as wide as its choice, or narrower where room is short."""

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
)
from typing_extensions import override

from bertviewer.ui.widgets.labels import joined_tooltips

MIN_WIDTH = 108
"""Pixels of a longer choice: about eight letters."""
MAX_VISIBLE = 24
SPARE = 2
"""Pixels in addition to the style's hint: it leaves two free around the text, and rounds."""


def offer(box: QComboBox, items: Iterable[tuple[str, object]], default: int = 0) -> None:
    """Replace the items of a box, texts with their data, without emitting signals.

    The choice is kept if its data are among them; else it is the item of the index ``default``.
    """
    chosen, items = box.currentData(), list(items)
    if items == [(box.itemText(n), box.itemData(n)) for n in range(box.count())]:
        return
    values = [data for _, data in items]
    with QSignalBlocker(box):
        box.clear()
        for text, data in items:
            box.addItem(text, data)
        box.setCurrentIndex(values.index(chosen) if chosen in values else default)
    box.updateGeometry()


class ChoiceBox(QComboBox):
    """As wide as its choice, or less; its list is as wide as it needs.

    ``QComboBox`` is as wide as its longest item and clips a choice that does not fit; this one
    elides it and shows it in the tooltip.
    """

    def __init__(self, name: str, purpose: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(purpose)
        self.setToolTip(purpose)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMaxVisibleItems(MAX_VISIBLE)
        self.currentTextChanged.connect(self.updateGeometry)

    @property
    def shown_text(self) -> str:
        """The choice, elided to the width of the field."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        rect = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self)
        # The style leaves a pixel free at both sides.
        cut = Qt.TextElideMode.ElideRight
        return self.fontMetrics().elidedText(self.currentText(), cut, rect.width() - 2)

    @override
    def sizeHint(self) -> QSize:
        hint = super().sizeHint()  # for no letters
        text = self.fontMetrics().horizontalAdvance(self.currentText())
        return hint + QSize(text + SPARE, 0)

    @override
    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        return QSize(min(hint.width(), MIN_WIDTH), hint.height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self.shown_text
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            text = self.currentText()
            if text != self.shown_text:
                QToolTip.showText(event.globalPos(), joined_tooltips(text, self.toolTip()), self)
                return True
        return super().event(event)

    @override
    def showPopup(self) -> None:
        # Paths are long.
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 30)
        super().showPopup()
