"""Widgets put together: in rows, columns, pages and splitters, and what they are called."""

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLayout,
    QScrollArea,
    QSpinBox,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)


class Gap(int):
    """So many pixels of nothing."""


STRETCH = 1
"""Nothing, which takes what room is left."""

Part = QWidget | QLayout | tuple[QWidget | QLayout, int] | tuple[QWidget, Qt.AlignmentFlag] | int
"""A widget or a layout, alone, with its share of the room that is left, or with its alignment.

A number is such a share for nothing.
"""

Margins = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels."""

Named = TypeVar("Named", bound=QWidget | QAction)
Box = TypeVar("Box", bound=QBoxLayout)


def named(widget: Named, name: str, *, says: str = "", tip: str = "") -> Named:
    """Return ``widget`` with an object name, what a screen reader says of it, and its tool tip.

    An action has no words for screen readers: its text is read.
    """
    widget.setObjectName(name)
    if says and isinstance(widget, QWidget):
        widget.setAccessibleName(says)
    if tip:
        widget.setToolTip(tip)
    return widget


def tool_button(name: str, text: str, tip: str = "", *, is_checkable: bool = False) -> QToolButton:
    """Return a button of that object name, with a word on it."""
    button = named(QToolButton(), name, tip=tip)
    button.setText(text)
    button.setCheckable(is_checkable)
    return button


def number_field(name: str, says: str, tip: str = "") -> QSpinBox:
    """Return a field for a whole number, written as all other numbers in the window."""
    field = named(QSpinBox(), name, says=says, tip=tip or says)
    field.setLocale(QLocale.c())
    field.setGroupSeparatorShown(True)
    # Qt gives the inside of such a field none of the padding that the style sheet asks for.
    field.lineEdit().setTextMargins(6, 0, 0, 0)
    return field


def stacked(*pages: QWidget) -> QStackedWidget:
    """Return pages of which one is in sight: the first."""
    stack = QStackedWidget()
    for page in pages:
        stack.addWidget(page)
    return stack


def split(*parts: QWidget, sizes: Sequence[int]) -> QSplitter:
    """Return parts side by side, with borders to be moved, as wide as ``sizes`` are in pixels."""
    splitter = QSplitter(Qt.Orientation.Horizontal)
    for part in parts:
        splitter.addWidget(part)
    splitter.setChildrenCollapsible(False)
    splitter.setSizes(sizes)
    return splitter


def scrolled(inside: QWidget) -> QScrollArea:
    """Return an area without a frame in which ``inside`` is scrolled, as wide as the area."""
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setWidget(inside)
    return area


def in_row(
    *parts: Part,
    on: QWidget | None = None,
    margins: Margins | None = (0, 0, 0, 0),
    spacing: int | None = None,
) -> QHBoxLayout:
    """Return parts side by side, as the layout of the widget ``on`` where one is given.

    ``None`` leaves the margins, or the pixels between parts, to the style.
    """
    return _filled(QHBoxLayout() if on is None else QHBoxLayout(on), parts, margins, spacing)


def in_column(
    *parts: Part,
    on: QWidget | None = None,
    margins: Margins | None = (0, 0, 0, 0),
    spacing: int | None = None,
) -> QVBoxLayout:
    """Return parts one below the other; all is as in ``in_row``."""
    return _filled(QVBoxLayout() if on is None else QVBoxLayout(on), parts, margins, spacing)


def _filled(box: Box, parts: Sequence[Part], margins: Margins | None, spacing: int | None) -> Box:
    if margins is not None:
        box.setContentsMargins(*margins)
    if spacing is not None:
        box.setSpacing(spacing)
    for part in parts:
        match part:
            case Gap():
                box.addSpacing(part)
            case int():
                box.addStretch(part)
            case (QWidget() as widget, Qt.AlignmentFlag() as side):
                box.addWidget(widget, 0, side)
            case (QWidget() as widget, int(share)):
                box.addWidget(widget, share)
            case (QLayout() as layout, int(share)):
                box.addLayout(layout, share)
            case QWidget():
                box.addWidget(part)
            case QLayout():
                box.addLayout(part)
    return box
