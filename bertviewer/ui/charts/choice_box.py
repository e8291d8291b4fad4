"""A list to choose from that gives way where room is short."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
)

from bertviewer.ui.tips import both_tips

LEAST = 56
"""Pixels that are left of it however short the room is."""
MOST_VISIBLE = 24


class ChoiceBox(QComboBox):
    """As wide as so many letters, or less, whatever it offers; its list is as wide as it needs.

    A choice that has no room is cut, and its tip is the whole of it.
    """

    def __init__(self, name: str, purpose: str, letters: int) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(purpose)
        self.setToolTip(purpose)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(letters)
        self.setMinimumWidth(LEAST)
        self.setMaxVisibleItems(MOST_VISIBLE)

    @property
    def shown_text(self) -> str:
        """As much of the choice as there is room for."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        rect = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self)
        # The style leaves a pixel free at both sides.
        cut = Qt.TextElideMode.ElideRight
        return self.fontMetrics().elidedText(self.currentText(), cut, rect.width() - 2)

    def sizeHint(self) -> QSize:
        """Return room for so many letters as words have, of which Qt takes wider ones."""
        hint, metrics = super().sizeHint(), self.fontMetrics()
        spared = metrics.horizontalAdvance("X") - metrics.averageCharWidth()
        return hint - QSize(self.minimumContentsLength() * spared, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the box; Qt calls it, and would clip the choice without a sign."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self.shown_text
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Tell the whole of a choice that is cut; Qt calls it."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            text = self.currentText()
            if text != self.shown_text:
                QToolTip.showText(event.globalPos(), both_tips(text, self.toolTip()), self)
                return True
        return super().event(event)

    def showPopup(self) -> None:
        """Open the list; Qt calls it."""
        # Paths are long.
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 30)
        super().showPopup()
