"""Labels and tooltips that show plain text literally, elided where space is short."""

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, LARGE, SMALL
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.widgets.layouts import STRETCH, hbox

MAX_TOOLTIP = 1000  # characters
_BADGE_ALPHA = 34  # of 255

Span = tuple[int, int, QTextCharFormat]
"""Start, length and format of a part of a text."""


def blank_page() -> QWidget:
    """Return an empty page in the background colour of text."""
    page = QWidget()
    page.setBackgroundRole(QPalette.ColorRole.Base)
    page.setAutoFillBackground(True)
    return page


def plain_label(text: str) -> QLabel:
    """Return a label of plain, wrapped, selectable text."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setText(text)
    label.setWordWrap(True)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    label.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return label


def muted_label(text: str) -> QLabel:
    """Return a plain, wrapped label in the muted colour."""
    label = plain_label(text)
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    return label


def muted(label: QLabel) -> QLabel:
    """Return a label, now in the muted colour and on one line."""
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    label.setWordWrap(False)
    return label


def heading_label(text: str, size: float = LARGE) -> QLabel:
    """Return a bold label; below the size of a title it has a margin above."""
    label = plain_label(text)
    label.setFont(weighted(sized(label.font(), size)))
    label.setContentsMargins(0, 10 if size <= LARGE else 0, 0, 2)
    return label


def left_aligned(widget: QWidget) -> QWidget:
    """Return a page of any width with ``widget`` at its left, as wide as its size hint."""
    page = QWidget()
    hbox(widget, STRETCH, parent=page, margins=(0, 2, 0, 0))
    return page


class ElidedLabel(QLabel):
    """Plain text of one line, elided where space is short; ``text()`` stays complete.

    The tooltip of an elided label begins with the complete text.
    """

    def __init__(self, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__()
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    @property
    def shown_text(self) -> str:
        """The text as drawn."""
        return self.fontMetrics().elidedText(self.text(), self._mode, self.contentsRect().width())

    @property
    def shown_tooltip(self) -> str:
        """The complete text where it is elided, followed by the tooltip."""
        tooltip, text = self.toolTip(), self.text()[:MAX_TOOLTIP]
        if self.shown_text == self.text() or tooltip == plain_tooltip(text):
            return tooltip
        return joined_tooltips(text, tooltip) if tooltip else plain_tooltip(text)

    @override
    def event(self, event: QEvent) -> bool:
        if not isinstance(event, QHelpEvent) or event.type() != QEvent.Type.ToolTip:
            return super().event(event)
        QToolTip.showText(event.globalPos(), self.shown_tooltip, self)
        return True

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            int(self.alignment()),
            self.palette(),
            self.isEnabled(),
            self.shown_text,
            self.foregroundRole(),
        )
        painter.end()


class Badge(QLabel):
    """Short text on a rounded background in a tint of its colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(weighted(sized(self.font(), SMALL)))
        self.setContentsMargins(2 * GRID, 1, 2 * GRID, 1)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Maximum)

    def show_text(self, text: str, role: QPalette.ColorRole) -> None:
        """Show a text in a colour of the palette; hide the badge for an empty text."""
        self.setText(text)
        self.setForegroundRole(role)
        self.setVisible(bool(text))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        color = QColor(self.palette().color(self.foregroundRole()))
        color.setAlpha(_BADGE_ALPHA)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        rect = QRectF(self.rect())
        painter.drawRoundedRect(rect, rect.height() / 2, rect.height() / 2)
        painter.end()
        super().paintEvent(event)


def plain_tooltip(text: str) -> str:
    """Return tooltip text that Qt shows literally, also where it looks like HTML (``<s>``)."""
    return _paragraph(text) if "<" in text or "&" in text else text


def joined_tooltips(text: str, tooltip: str) -> str:
    """Return a literal text followed by an existing tooltip."""
    is_markup = tooltip.startswith("<p>")
    return _paragraph(text) + (tooltip if is_markup else _paragraph(tooltip))


def _paragraph(text: str) -> str:
    from html import escape  # few texts need it, and none at start-up

    return f"<p>{escape(text).replace(chr(10), '<br>')}</p>"


def highlighted_line(
    text: str, font: QFont, spans: Iterable[Span], width: float | None = None
) -> QTextLayout:
    """Lay out plain text on one line, with other formats for some spans.

    Right-to-left text keeps its direction; with a ``width`` in pixels it is right-aligned in it.
    """
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    layout.setTextOption(option)
    ranges = []
    for start, length, text_format in spans:
        if length > 0:
            span = QTextLayout.FormatRange()
            span.start, span.length, span.format = start, length, text_format
            ranges.append(span)
    layout.setFormats(ranges)
    layout.beginLayout()
    line = layout.createLine()
    if width is not None:
        line.setLineWidth(width)
    layout.endLayout()
    return layout
