"""Labels and pages of nothing but text, which is shown literally."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget


def blank_page() -> QWidget:
    """Return an empty page in the colour that text is read on."""
    page = QWidget()
    page.setBackgroundRole(QPalette.ColorRole.Base)
    page.setAutoFillBackground(True)
    return page


def plain_label(text: str) -> QLabel:
    """Return a label that shows ``text`` literally, wraps it and lets it be selected."""
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


def at_the_left(widget: QWidget) -> QWidget:
    """Return a widget as wide as there is room, with ``widget`` as wide as it needs to be."""
    page = QWidget()
    layout = QHBoxLayout(page)
    layout.setContentsMargins(0, 2, 0, 0)
    layout.addWidget(widget)
    layout.addStretch(1)
    return page


def heading_label(text: str, points: float = 0.0) -> QLabel:
    """Return a bold label, with room above it; ``points`` are added to the font's size."""
    label = plain_label(text)
    font = QFont(label.font())
    font.setBold(True)
    font.setPointSizeF(font.pointSizeF() + points)
    label.setFont(font)
    label.setContentsMargins(0, 10 if not points else 0, 0, 2)
    return label


def muted(label: QLabel) -> QLabel:
    """Return a label in a quieter colour, on one line."""
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    label.setWordWrap(False)
    return label
