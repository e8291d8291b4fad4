"""Layouts, splitters and object names for widgets."""

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import QEvent, QLocale, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QScrollArea,
    QSpinBox,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override


class Gap(int):
    """Fixed spacing in a box layout, in pixels."""


STRETCH = 1
"""Stretch in a box layout."""

Part = QWidget | QLayout | tuple[QWidget | QLayout, int] | tuple[QWidget, Qt.AlignmentFlag] | int
"""A widget or layout, alone or with its stretch factor or alignment; a number is a stretch."""

Margins = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels."""

Named = TypeVar("Named", bound=QWidget | QAction)
Box = TypeVar("Box", bound=QBoxLayout)


def named(widget: Named, name: str, *, accessible_name: str = "", tooltip: str = "") -> Named:
    """Set object name, accessible name and tooltip of a widget or action; return it.

    Actions have no accessible name: screen readers read their text.
    """
    widget.setObjectName(name)
    if accessible_name and isinstance(widget, QWidget):
        widget.setAccessibleName(accessible_name)
    if tooltip:
        widget.setToolTip(tooltip)
    return widget


def number_field(name: str, accessible_name: str, tooltip: str = "") -> QSpinBox:
    """Return a spin box that formats integers like the rest of the window."""
    field = named(
        QSpinBox(), name, accessible_name=accessible_name, tooltip=tooltip or accessible_name
    )
    field.setLocale(QLocale.c())
    field.setGroupSeparatorShown(True)
    # The style sheet's padding does not reach the line edit inside.
    field.lineEdit().setTextMargins(6, 0, 0, 0)
    return field


def stacked(*pages: QWidget) -> QStackedWidget:
    """Return a stack of pages that shows the first."""
    stack = QStackedWidget()
    for page in pages:
        stack.addWidget(page)
    return stack


def split(*parts: QWidget, sizes: Sequence[int]) -> QSplitter:
    """Return a horizontal splitter; ``sizes`` are initial widths in pixels."""
    splitter = QSplitter(Qt.Orientation.Horizontal)
    for part in parts:
        splitter.addWidget(part)
    splitter.setChildrenCollapsible(False)
    splitter.setSizes(sizes)
    return splitter


def scroll_area(inside: QWidget) -> QScrollArea:
    """Return a frameless scroll area with ``inside``, as wide as the area."""
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setWidget(inside)
    return area


def hbox(
    *parts: Part,
    parent: QWidget | None = None,
    margins: Margins | None = (0, 0, 0, 0),
    spacing: int | None = None,
) -> QHBoxLayout:
    """Return a row of parts, installed as the layout of ``parent``.

    ``None`` leaves margins or spacing to the style.
    """
    return _filled(
        QHBoxLayout() if parent is None else QHBoxLayout(parent), parts, margins, spacing
    )


def vbox(
    *parts: Part,
    parent: QWidget | None = None,
    margins: Margins | None = (0, 0, 0, 0),
    spacing: int | None = None,
) -> QVBoxLayout:
    """Return a column of parts, with the arguments of ``hbox``."""
    return _filled(
        QVBoxLayout() if parent is None else QVBoxLayout(parent), parts, margins, spacing
    )


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
            case (QWidget() as widget, Qt.AlignmentFlag() as alignment):
                box.addWidget(widget, 0, alignment)
            case (QWidget() as widget, int(stretch)):
                box.addWidget(widget, stretch)
            case (QLayout() as layout, int(stretch)):
                box.addLayout(layout, stretch)
            case QWidget():
                box.addWidget(part)
            case QLayout():
                box.addLayout(part)
    return box


class FlowLayout(QLayout):
    """Widgets at their size hints, wrapped into lines like words; Qt has no such layout."""

    def __init__(self, parent: QWidget, column_spacing: int, row_spacing: int) -> None:
        super().__init__(parent)
        self.setContentsMargins(0, 0, 0, 0)
        self._column_spacing, self._row_spacing = column_spacing, row_spacing
        self._items: list[QLayoutItem] = []

    @override
    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    @override
    def count(self) -> int:
        return len(self._items)

    @override
    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    @override
    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), is_trial=True)

    @override
    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, is_trial=False)

    @override
    def sizeHint(self) -> QSize:
        sizes = [item.sizeHint() for item in self._items]
        gaps = self._column_spacing * max(0, len(sizes) - 1)
        height = max((size.height() for size in sizes), default=0)
        return QSize(sum(size.width() for size in sizes) + gaps, height)

    @override
    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, rect: QRect, *, is_trial: bool) -> int:
        """Return the height of all lines; set the geometry of all items unless it is a trial."""
        x, y, height = rect.x(), rect.y(), 0
        for item in self._items:
            size = item.sizeHint().boundedTo(QSize(rect.width(), item.sizeHint().height()))
            if x > rect.x() and x + size.width() > rect.right() + 1:
                x, y, height = rect.x(), y + height + self._row_spacing, 0
            if not is_trial:
                item.setGeometry(QRect(QPoint(x, y), size))
            x += size.width() + self._column_spacing
            height = max(height, size.height())
        return y + height - rect.y()


class ResponsiveSplitter(QSplitter):
    """Splitter of two widgets that is vertical where the pane is narrow.

    ``shares`` are the initial proportions; below a width of ``min_lines`` text lines, or of its
    own height, the widgets are stacked.
    """

    def __init__(
        self, first: QWidget, second: QWidget, shares: tuple[int, int], min_lines: int = 0
    ) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._shares, self._min_lines = shares, min_lines
        self._is_dragged = False
        self.addWidget(first)
        self.addWidget(second)
        self.setChildrenCollapsible(False)
        self.reset_sizes()
        self.splitterMoved.connect(self._on_moved)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_orientation()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._update_orientation()

    def reset_sizes(self) -> None:
        """Restore the initial proportions."""
        self._is_dragged = False
        # Qt's default starts from the minimum sizes, of which one may be far larger.
        room = max(self.width(), self.height())
        self.setSizes([max(1, room * share // sum(self._shares)) for share in self._shares])

    def _update_orientation(self) -> None:
        min_width = self._min_lines * self.fontMetrics().height()
        is_narrow = self.width() < max(self.height(), min_width)
        orientation = Qt.Orientation.Vertical if is_narrow else Qt.Orientation.Horizontal
        if orientation != self.orientation():
            self.setOrientation(orientation)
            self._is_dragged = False  # those sizes were for the other orientation
        if not self._is_dragged:
            self.reset_sizes()

    def _on_moved(self) -> None:
        self._is_dragged = True
