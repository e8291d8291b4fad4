"""Rows and columns of widgets, and what a widget is called."""

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget


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
