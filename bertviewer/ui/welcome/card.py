"""A card that is clicked as a whole, and a grid of cards with as many columns as there is room."""

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from bertviewer.charts.theme import GRID, NORMAL, ROUND, mixed
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.widgets.labels import ElidedLabel, muted
from bertviewer.ui.widgets.layouts import vbox

PADDING = 3 * GRID


class Card(QAbstractButton):
    """A button that holds widgets; what it is called is also what a screen reader says."""

    def __init__(self, name: str, title: str, says: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setText(title)
        self.setAccessibleName(title)
        self.setAccessibleDescription(says)
        # A button's own would not let it become narrower than its texts.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.lines = vbox(
            parent=self, margins=(PADDING, PADDING, PADDING, PADDING), spacing=GRID // 2
        )

    def add_text(self, text: str, *, is_title: bool = False) -> ElidedLabel:
        """Add a line of text, the card's title or a quieter one."""
        label = card_text(text, is_title=is_title)
        self.lines.addWidget(label)
        return label

    def event(self, event: QEvent) -> bool:
        """Click with Enter as with the space bar; Qt calls it."""
        if event.type() == QEvent.Type.KeyPress and getattr(event, "key", int)() in (
            Qt.Key.Key_Return,
            Qt.Key.Key_Enter,
        ):
            self.click()
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw its ground and its edge; Qt calls it."""
        theme = theme_of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground, edge, width = theme.surface, theme.line, 1.0
        if not self.isEnabled():
            ground = theme.background
        elif self.isDown():
            ground = theme.selection
        elif self.underMouse():
            ground, edge = theme.hover, mixed(theme.text, theme.surface, 0.25)
        if self.hasFocus():
            edge, width = theme.accent, 2.0
        painter.setPen(QPen(QColor(edge), width))
        painter.setBrush(QColor(ground))
        inset = width / 2
        box = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        painter.drawRoundedRect(box, ROUND, ROUND)
        painter.end()


def card_text(text: str, *, is_title: bool = False) -> ElidedLabel:
    """Return a line of text that leaves clicks to the card that it stands on."""
    label = ElidedLabel()
    label.setText(text)
    label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    if is_title:
        label.setFont(weighted(label.font()))
    else:
        muted(label)
    label.setFont(sized(label.font(), NORMAL))
    return label


class CardGrid(QWidget):
    """Cards of one size, in rows."""

    GAP = 3 * GRID

    def __init__(self, cards: Iterable[QWidget], least_width: int) -> None:
        super().__init__()
        self._cards = tuple(cards)
        self._least_width = least_width
        for card in self._cards:
            card.setParent(self)
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        """Return that rows follow from the width; Qt calls it."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all rows; Qt calls it."""
        rows = -(-len(self._cards) // self._columns(width))
        return rows * self._card_height(width) + max(0, rows - 1) * self.GAP

    def sizeHint(self) -> QSize:
        """Return the size at the present width; Qt calls it."""
        return QSize(self._least_width, self.heightForWidth(max(self.width(), self._least_width)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the cards into their places; Qt calls it."""
        super().resizeEvent(event)
        columns, height = self._columns(self.width()), self._card_height(self.width())
        for number, card in enumerate(self._cards):
            row, column = divmod(number, columns)
            left, right = (
                round((self.width() + self.GAP) * place / columns) for place in (column, column + 1)
            )
            top = row * (height + self.GAP)
            card.setGeometry(QRect(left, top, right - left - self.GAP, height))

    def _columns(self, width: int) -> int:
        most = (width + self.GAP) // (self._least_width + self.GAP)
        return min(len(self._cards), max(1, most)) or 1

    def _card_width(self, width: int) -> int:
        return (width + self.GAP) // self._columns(width) - self.GAP

    def _card_height(self, width: int) -> int:
        wide = self._card_width(width)
        return max(
            (
                card.heightForWidth(wide) if card.hasHeightForWidth() else card.sizeHint().height()
                for card in self._cards
            ),
            default=0,
        )
