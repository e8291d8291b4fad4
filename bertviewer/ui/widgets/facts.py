"""Named facts in groups, as plain text that can be selected and copied."""

from collections.abc import Sequence
from itertools import takewhile
from typing import TypeVar

from msgspec import Struct
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.widgets.elided_label import ElidedLabel
from bertviewer.ui.widgets.labels import heading_label, muted, plain_label
from bertviewer.ui.widgets.tooltips import plain_tip

W = TypeVar("W", bound=QWidget)

Fact = tuple[str, str | QWidget]
"""A name, and a text or a widget."""

_Labels = tuple[QLabel | None, QWidget | None]
"""What shows a line: its name, and its value."""

MOST_NAME, MOST_WORD = 136, 150
"""Pixels of a name and of a value's longest word that stand beside one another."""

NARROW = 60
"""Pixels of names that leave all the rest to their values, where a whole group's are so short."""

LONG_WORD = 40
"""Letters of a word that may be cut in a narrow pane."""


class FactGroup(Struct, frozen=True):
    """A heading and its lines, texts or widgets; a line without a name takes the whole width."""

    heading: str
    facts: Sequence[Fact]


class _Line(Struct, frozen=True):
    """A heading, or a fact."""

    name: str
    value: str | QWidget = ""
    is_heading: bool = False
    is_high: bool = False
    is_narrow: bool = False

    @property
    def kind(self) -> tuple[bool, ...]:
        """What decides which widgets show it, and where."""
        has_text = isinstance(self.value, str)
        return self.is_heading, bool(self.name), has_text, self.is_high, self.is_narrow


def _lines(group: FactGroup, metrics: QFontMetrics) -> list[_Line]:
    if not group.facts:
        return []
    heading = [_Line(group.heading, is_heading=True)] if group.heading else []
    is_narrow = all(metrics.horizontalAdvance(name) <= NARROW for name, _ in group.facts)
    return heading + [_line(name, value, metrics, is_narrow) for name, value in group.facts]


def _line(name: str, value: str | QWidget, metrics: QFontMetrics, is_narrow: bool) -> _Line:
    """Return a fact's line: the value below its name where both are long."""
    words = value.split() if isinstance(value, str) else []
    longest = max(map(metrics.horizontalAdvance, words), default=0)
    most = MOST_WORD + (MOST_NAME - NARROW if is_narrow else 0)
    is_high = metrics.horizontalAdvance(name) > MOST_NAME or longest > most
    return _Line(name, value, is_high=is_high and bool(name), is_narrow=is_narrow)


class FactsView(QWidget):
    """Shows groups of facts below one another, names in one column and values in the next.

    The column of names is two, of which short names have only the first.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[_Line] = []
        self._labels: list[_Labels] = []  # of each line
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)  # not the first, which would grow with long names
        grid.setColumnStretch(2, 100)

    def show_groups(self, groups: Sequence[FactGroup]) -> None:
        """Show these groups in place of those before.

        Labels of a kind of line are used again for others of the kind: a hundred new ones would
        be felt. Those at the top, as long as the lines are of the same kinds as before, stay where
        they are.
        """
        metrics = self.fontMetrics()
        lines = [line for group in groups for line in _lines(group, metrics)]
        pairs = zip(lines, self._lines, strict=False)
        kept = sum(1 for _ in takewhile(lambda pair: pair[0].kind == pair[1].kind, pairs))
        before, self._lines = self._lines, lines
        for number, line in enumerate(lines[:kept]):
            self._labels[number] = self._exchange(self._labels[number], line)
        if kept == len(lines) == len(before):
            return
        # On a page in sight each label would be shown, and all of them laid out, by itself.
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
            # One that came in this very turn is still to be shown: as a window, without a parent.
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()

    def _add(self, line: _Line, spare: list[_Labels]) -> None:
        """Put a line below those that are there, of labels that are spare or new."""
        labels = self._exchange(spare.pop(0), line) if spare else _labels_of(line)
        # Each has two rows, of which most need one.
        grid, row = self._grid, 2 * len(self._labels)
        self._labels.append(labels)
        name, value = labels
        if name is None or value is None:
            if name is not None:
                # What is above the first heading keeps away by itself.
                name.setContentsMargins(0, 10 if row else GRID, 0, 2)
            grid.addWidget(name or value or QWidget(), row, 0, 1, 3)
        elif line.is_high:
            grid.addWidget(name, row, 0, 1, 3)
            grid.addWidget(value, row + 1, 0, 1, 3)
        else:
            first = 1 if line.is_narrow else 2
            grid.addWidget(name, row, 0, 1, first, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, row, first, 1, 3 - first)

    def _exchange(self, labels: _Labels, line: _Line) -> _Labels:
        """Write another line of the same kind; return the labels, a widget among them exchanged."""
        name, value = labels
        if name is not None and name.text() != line.name:
            name.setText(line.name)
        if isinstance(line.value, str):
            if isinstance(value, QLabel) and value.text() != line.value:
                value.setText(line.value)
                value.setToolTip(_tip(line.value))
        elif value is not None:
            self._grid.replaceWidget(value, _narrow(line.value))
            self._drop(value)
            line.value.show()
            return name, line.value
        return labels


def _labels_of(line: _Line) -> _Labels:
    if line.is_heading:
        return _narrow(heading_label(line.name)), None
    value = _value_label(line.value) if isinstance(line.value, str) else line.value
    return _name_label(line) if line.name else None, _narrow(value)


def _narrow(widget: W) -> W:
    """Return a widget that is cut where the page is narrower, and does not make that wider."""
    widget.setMinimumWidth(1)
    return widget


def _name_label(line: _Line) -> QLabel:
    label = ElidedLabel() if line.is_high else _ShortName()
    label.setText(line.name)
    return muted(label)


class _ShortName(ElidedLabel):
    """A name to which the value beside it gives way."""

    def minimumSizeHint(self) -> QSize:
        """Return the whole width, if that is not too much; Qt calls it."""
        return (
            super().minimumSizeHint().expandedTo(QSize(min(self.sizeHint().width(), MOST_NAME), 0))
        )


def _value_label(text: str) -> QLabel:
    label = plain_label(text)
    label.setToolTip(_tip(text))
    return label


def _tip(text: str) -> str:
    """Return all of a text that has a word too long to be seen whole, "" for any other."""
    return plain_tip(text) if any(len(word) > LONG_WORD for word in text.split()) else ""
