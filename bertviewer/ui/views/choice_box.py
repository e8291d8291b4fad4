"""A list to choose from that gives way where room is short, and what any list offers."""

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

from bertviewer.ui.widgets.labels import joined_tooltips

LEAST = 108
"""Pixels that are left of a longer choice however short the room is: about eight letters."""
MOST_VISIBLE = 24
SPARE = 2
"""Pixels more than the style asks for: it leaves two free around the text, and rounds."""


def offer(box: QComboBox, items: Iterable[tuple[str, object]], usual: int = 0) -> None:
    """Offer these in a list, each with what it stands for; nobody is told.

    What is chosen stays so if it is among them; else it is the one of the number ``usual``.
    """
    wanted, items = box.currentData(), list(items)
    if items == [(box.itemText(n), box.itemData(n)) for n in range(box.count())]:
        return
    stands_for = [data for _, data in items]
    with QSignalBlocker(box):
        box.clear()
        for text, data in items:
            box.addItem(text, data)
        box.setCurrentIndex(stands_for.index(wanted) if wanted in stands_for else usual)
    box.updateGeometry()


class ChoiceBox(QComboBox):
    """As wide as what is chosen, or less; its list is as wide as it needs.

    A choice that has no room is cut, and its tip is the whole of it.
    """

    def __init__(self, name: str, purpose: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(purpose)
        self.setToolTip(purpose)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMaxVisibleItems(MOST_VISIBLE)
        self.currentTextChanged.connect(self.updateGeometry)

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
        """Return the room for what is chosen; Qt calls it."""
        hint = super().sizeHint()  # for no letters
        text = self.fontMetrics().horizontalAdvance(self.currentText())
        return hint + QSize(text + SPARE, 0)

    def minimumSizeHint(self) -> QSize:
        """Return the room for a short choice, or for the beginning of a long one; Qt calls it."""
        hint = self.sizeHint()
        return QSize(min(hint.width(), LEAST), hint.height())

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
                QToolTip.showText(event.globalPos(), joined_tooltips(text, self.toolTip()), self)
                return True
        return super().event(event)

    def showPopup(self) -> None:
        """Open the list; Qt calls it."""
        # Paths are long.
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 30)
        super().showPopup()
