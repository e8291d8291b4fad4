"""Named facts in groups, as plain text that can be selected and copied."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QWidget

from bertviewer.ui.labels import blank_page, heading_label, muted, plain_label

Fact = tuple[str, str | QWidget]
"""A name, and a text or a widget."""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """A heading and its lines, texts or widgets; a line without a name takes the whole width."""

    heading: str
    facts: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class _Line:
    """A heading, or a fact."""

    name: str
    value: str | QWidget = ""
    is_heading: bool = False

    @property
    def kind(self) -> tuple[bool, bool, bool]:
        """What decides which widgets show it."""
        return self.is_heading, bool(self.name), isinstance(self.value, str)


def _lines(group: FactGroup) -> list[_Line]:
    if not group.facts:
        return []
    heading = [_Line(group.heading, is_heading=True)] if group.heading else []
    return heading + [_Line(name, value) for name, value in group.facts]


class FactsView(QScrollArea):
    """Shows groups of facts below one another, names in one column and values in the next."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._lines: list[_Line] = []
        self._labels: list[tuple[QLabel | None, QWidget | None]] = []  # of each line
        self._page = page = blank_page()
        self._grid = grid = QGridLayout(page)
        grid.setContentsMargins(16, 12, 16, 16)
        grid.setHorizontalSpacing(20)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        self.setWidget(page)

    def show_groups(self, groups: Sequence[FactGroup]) -> None:
        """Show these groups in place of those before; the view keeps its scroll position.

        From the top on, as long as the lines are of the same kinds as before, only their texts
        are exchanged: a hundred new labels would be felt. Between two layers or two runs that is
        all of them, and those above the figures of the first run.
        """
        lines = [line for group in groups for line in _lines(group)]
        pairs = zip(lines, self._lines, strict=False)
        kept = sum(1 for _ in takewhile(lambda pair: pair[0].kind == pair[1].kind, pairs))
        self._exchange(lines[:kept])
        if kept < max(len(lines), len(self._lines)):
            # On a page in sight each label would be shown, and all of them laid out, by itself.
            self._page.hide()
            self._cut(kept)
            self._add(lines[kept:])
            self._page.show()
        self._lines = lines

    def _cut(self, kept: int) -> None:
        """Take the lines away from that number on."""
        self._grid.setRowStretch(len(self._labels), 0)
        for name, value in self._labels[kept:]:
            self._drop(name)
            self._drop(value)
        del self._labels[kept:]

    def _drop(self, widget: QWidget | None) -> None:
        if widget is not None:
            self._grid.removeWidget(widget)
            widget.setParent(None)
            widget.deleteLater()

    def _add(self, lines: Sequence[_Line]) -> None:
        """Put lines below those that are there."""
        grid = self._grid
        for number, line in enumerate(lines, len(self._labels)):
            if line.is_heading:
                label = heading_label(line.name)
                grid.addWidget(label, number, 0, 1, 2)
                self._labels.append((label, None))
                continue
            name = muted(plain_label(line.name)) if line.name else None
            value = plain_label(line.value) if isinstance(line.value, str) else line.value
            if name is not None:
                grid.addWidget(name, number, 0, Qt.AlignmentFlag.AlignTop)
                grid.addWidget(value, number, 1, Qt.AlignmentFlag.AlignTop)
            else:
                grid.addWidget(value, number, 0, 1, 2)
            self._labels.append((name, value))
        grid.setRowStretch(len(self._labels), 1)

    def _exchange(self, lines: Sequence[_Line]) -> None:
        """Write other texts into the first lines."""
        for number, line in enumerate(lines):
            name, value = self._labels[number]
            if name is not None and name.text() != line.name:
                name.setText(line.name)
            if isinstance(line.value, str):
                if isinstance(value, QLabel) and value.text() != line.value:
                    value.setText(line.value)
            elif value is not None:
                self._grid.replaceWidget(value, line.value)
                self._drop(value)
                self._labels[number] = name, line.value
