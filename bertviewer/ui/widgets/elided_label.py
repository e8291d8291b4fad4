"""A label of one line that says with an ellipsis where it has no room for all of its text."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QToolTip

from bertviewer.ui.widgets.tooltips import both_tips, plain_tip

LONGEST_TIP = 1000  # letters


class ElidedLabel(QLabel):
    """Plain text, as much of it as there is room for; ``text()`` is always the whole.

    Under the mouse a text that is cut is told whole, before what its tip has to say.
    """

    def __init__(self, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__()
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)

    def minimumSizeHint(self) -> QSize:
        """Return no width: the label gives way to everything beside it. Qt calls it."""
        return QSize(0, super().minimumSizeHint().height())

    @property
    def shown_text(self) -> str:
        """As much of the text as there is room for."""
        return self.fontMetrics().elidedText(self.text(), self._mode, self.contentsRect().width())

    @property
    def whole_tip(self) -> str:
        """What is told under the mouse: the text where it is cut, and the tip, if there is one."""
        tip, text = self.toolTip(), self.text()[:LONGEST_TIP]
        if self.shown_text == self.text() or tip == plain_tip(text):
            return tip
        return both_tips(text, tip) if tip else plain_tip(text)

    def event(self, event: QEvent) -> bool:
        """Tell the whole of a text that is cut; Qt calls it."""
        if not isinstance(event, QHelpEvent) or event.type() != QEvent.Type.ToolTip:
            return super().event(event)
        QToolTip.showText(event.globalPos(), self.whole_tip, self)
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw what fits; Qt calls it."""
        room, text = self.contentsRect(), self.shown_text
        painter = QPainter(self)
        self.style().drawItemText(
            painter,
            room,
            int(self.alignment()),
            self.palette(),
            self.isEnabled(),
            text,
            self.foregroundRole(),
        )
        painter.end()
