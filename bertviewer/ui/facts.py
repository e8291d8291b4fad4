"""Named facts in groups, as plain text that can be selected and copied."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QScrollArea, QWidget

Fact = tuple[str, str | QWidget]
"""A name, and a text or a widget."""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """A heading and its lines, texts or widgets; a line without a name takes the whole width."""

    heading: str
    facts: Sequence[Fact]


class FactsView(QScrollArea):
    """Shows groups of facts below one another, names in one column and values in the next."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def show_groups(self, groups: Sequence[FactGroup]) -> None:
        """Show these groups in place of those before; the view keeps its scroll position."""
        position = self.verticalScrollBar().value()
        page = blank_page()
        grid = QGridLayout(page)
        grid.setContentsMargins(16, 12, 16, 16)
        grid.setHorizontalSpacing(20)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        line = 0
        for group in groups:
            if not group.facts:
                continue
            if group.heading:
                grid.addWidget(heading_label(group.heading), line, 0, 1, 2)
            for name, value in group.facts:
                line += 1
                shown = plain_label(value) if isinstance(value, str) else value
                if name:
                    grid.addWidget(_muted(plain_label(name)), line, 0, Qt.AlignmentFlag.AlignTop)
                    grid.addWidget(shown, line, 1, Qt.AlignmentFlag.AlignTop)
                else:
                    grid.addWidget(shown, line, 0, 1, 2)
            line += 1
        grid.setRowStretch(line, 1)
        self.setWidget(page)
        self.verticalScrollBar().setValue(position)


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


def _muted(label: QLabel) -> QLabel:
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    label.setWordWrap(False)
    return label
