"""Groups of named facts, as selectable plain text."""

from collections.abc import Sequence
from itertools import takewhile
from typing import TypeVar

from msgspec import Struct
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.ui.widgets.labels import (
    ElidedLabel,
    heading_label,
    muted,
    plain_label,
    plain_tooltip,
)

W = TypeVar("W", bound=QWidget)

Fact = tuple[str, str | QWidget]
"""A name, and a text or a widget."""

_Labels = tuple[QLabel | None, QWidget | None]
"""The widgets of a line: its name, and its value."""

MAX_NAME, MAX_WORD = 136, 150
"""Pixels of a name, and of the longest word of a value, that share a row."""

NARROW = 60
"""Width in pixels up to which a group's names have the narrow column."""

LONG_WORD = 40
"""Characters of a word that may be cut off in a narrow pane."""


class FactGroup(Struct, frozen=True):
    """A heading and its facts; one without a name takes the full width."""

    heading: str
    facts: Sequence[Fact]


class _Line(Struct, frozen=True):
    """A heading, or a fact."""

    name: str
    value: str | QWidget = ""
    is_heading: bool = False
    is_stacked: bool = False
    is_narrow: bool = False

    @property
    def kind(self) -> tuple[bool, ...]:
        """What its widgets and their cells depend on."""
        has_text = isinstance(self.value, str)
        return self.is_heading, bool(self.name), has_text, self.is_stacked, self.is_narrow


def _lines(group: FactGroup, metrics: QFontMetrics) -> list[_Line]:
    if not group.facts:
        return []
    heading = [_Line(group.heading, is_heading=True)] if group.heading else []
    is_narrow = all(metrics.horizontalAdvance(name) <= NARROW for name, _ in group.facts)
    return heading + [_line(name, value, metrics, is_narrow) for name, value in group.facts]


def _line(name: str, value: str | QWidget, metrics: QFontMetrics, is_narrow: bool) -> _Line:
    """Return a fact's line; a long name or value stacks the value below the name."""
    words = value.split() if isinstance(value, str) else []
    longest = max(map(metrics.horizontalAdvance, words), default=0)
    most = MAX_WORD + (MAX_NAME - NARROW if is_narrow else 0)
    is_stacked = metrics.horizontalAdvance(name) > MAX_NAME or longest > most
    return _Line(name, value, is_stacked=is_stacked and bool(name), is_narrow=is_narrow)


class FactsView(QWidget):
    """Shows groups of facts, names in one column and values in the next.

    The names span two grid columns, of which those of a narrow group use only the first. Unlike a
    ``QFormLayout``, it reuses the labels when another module's facts are shown.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[_Line] = []
        self._labels: list[_Labels] = []  # of each line
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)  # the first would grow with long names
        grid.setColumnStretch(2, 100)

    def show_groups(self, groups: Sequence[FactGroup]) -> None:
        """Replace the groups.

        Labels are reused for lines of the same kind, as creating a hundred is noticeably slow; at
        the top, up to the first line of another kind, they stay in their cells.
        """
        metrics = self.fontMetrics()
        lines = [line for group in groups for line in _lines(group, metrics)]
        pairs = zip(lines, self._lines, strict=False)
        kept = sum(1 for _ in takewhile(lambda pair: pair[0].kind == pair[1].kind, pairs))
        before, self._lines = self._lines, lines
        for number, line in enumerate(lines[:kept]):
            self._labels[number] = self._reuse(self._labels[number], line)
        if kept == len(lines) == len(before):
            return
        # On a visible page, every added label would cause another layout.
        self.hide()
        self._grid.setRowStretch(2 * len(before), 0)
        spare: dict[tuple[bool, ...], list[_Labels]] = {}
        for line, labels in zip(before[kept:], self._labels[kept:], strict=True):
            spare.setdefault(line.kind, []).append(labels)
        del self._labels[kept:]
        for line in lines[kept:]:
            self._add(line, spare.get(line.kind, []))
        for labels in (each for left in spare.values() for each in left):
            for widget in labels:
                self._drop(widget)
        self._grid.setRowStretch(2 * len(lines), 1)
        self.show()

    def _drop(self, widget: QWidget | None) -> None:
        if widget is not None:
            self._grid.removeWidget(widget)
            # Without a parent, a widget with a pending show event would become a window.
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()

    def _add(self, line: _Line, spare: list[_Labels]) -> None:
        """Append a line, with spare or new labels."""
        labels = self._reuse(spare.pop(0), line) if spare else _labels_of(line)
        # Each line has two grid rows; most use one.
        grid, row = self._grid, 2 * len(self._labels)
        self._labels.append(labels)
        name, value = labels
        if name is None or value is None:
            if name is not None:
                # The first heading needs no space above.
                name.setContentsMargins(0, 10 if row else GRID, 0, 2)
            grid.addWidget(name or value or QWidget(), row, 0, 1, 3)
        elif line.is_stacked:
            grid.addWidget(name, row, 0, 1, 3)
            grid.addWidget(value, row + 1, 0, 1, 3)
        else:
            first = 1 if line.is_narrow else 2
            grid.addWidget(name, row, 0, 1, first, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, row, first, 1, 3 - first)

    def _reuse(self, labels: _Labels, line: _Line) -> _Labels:
        """Show another line of the same kind in the labels; return the widgets now shown."""
        name, value = labels
        if name is not None and name.text() != line.name:
            name.setText(line.name)
        if isinstance(line.value, str):
            if isinstance(value, QLabel) and value.text() != line.value:
                value.setText(line.value)
                value.setToolTip(_tooltip(line.value))
        elif value is not None:
            self._grid.replaceWidget(value, _shrinkable(line.value))
            self._drop(value)
            line.value.show()
            return name, line.value
        return labels


def _labels_of(line: _Line) -> _Labels:
    if line.is_heading:
        return _shrinkable(heading_label(line.name)), None
    value = _value_label(line.value) if isinstance(line.value, str) else line.value
    return _name_label(line) if line.name else None, _shrinkable(value)


def _shrinkable(widget: W) -> W:
    """Return a widget that may be clipped instead of widening the page."""
    widget.setMinimumWidth(1)
    return widget


def _name_label(line: _Line) -> QLabel:
    label = ElidedLabel() if line.is_stacked else _ShortName()
    label.setText(line.name)
    return muted(label)


class _ShortName(ElidedLabel):
    """A name whose width takes precedence over the value's."""

    @override
    def minimumSizeHint(self) -> QSize:
        return (
            super().minimumSizeHint().expandedTo(QSize(min(self.sizeHint().width(), MAX_NAME), 0))
        )


def _value_label(text: str) -> QLabel:
    label = plain_label(text)
    label.setToolTip(_tooltip(text))
    return label


def _tooltip(text: str) -> str:
    """Return the text as a tooltip if one of its words may be cut off."""
    return plain_tooltip(text) if any(len(word) > LONG_WORD for word in text.split()) else ""
