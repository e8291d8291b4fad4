"""Labels and pages of nothing but text, which is shown literally."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QWidget

from bertviewer.charts.theme import LARGE
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.widgets.layouts import STRETCH, in_row


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


def quiet_label(text: str) -> QLabel:
    """Return a label for what is said beside something else: in a quieter colour, and wrapped."""
    label = plain_label(text)
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    return label


def at_the_left(widget: QWidget) -> QWidget:
    """Return a widget as wide as there is room, with ``widget`` as wide as it needs to be."""
    page = QWidget()
    in_row(widget, STRETCH, on=page, margins=(0, 2, 0, 0))
    return page


def heading_label(text: str, size: float = LARGE) -> QLabel:
    """Return a label in strong type of that size, with room above it unless it is a title."""
    label = plain_label(text)
    label.setFont(weighted(sized(label.font(), size)))
    label.setContentsMargins(0, 10 if size <= LARGE else 0, 0, 2)
    return label


def muted(label: QLabel) -> QLabel:
    """Return a label in a quieter colour, on one line."""
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    label.setWordWrap(False)
    return label
