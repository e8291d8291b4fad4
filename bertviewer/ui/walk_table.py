"""The tables of the walk: its steps with their shapes and counts, and its groups."""

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QObject, Qt

from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.text.numerals import count_text
from bertviewer.core.walk.groups import CountGroups
from bertviewer.core.walk.subtotal import Subtotal
from bertviewer.core.walk.walk import Walk, WalkPart, WalkShape, WalkStep
from bertviewer.ui.table_copies import PATH_ROLE
from bertviewer.ui.tables import Column, Index, Row, TableModel

TICK, CROSS = "✓", "✗"


class WalkTableModel(TableModel):
    """Each part of the walk under its sum, a step in one or two lines, the total last."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._columns = (
            Column("", is_number=True),
            Column(self.tr("Step")),
            Column(self.tr("Input")),
            Column(self.tr("Output")),
            Column(self.tr("Trainable"), is_number=True),
            Column(self.tr("Calculation")),
        )
        self._steps: list[WalkStep | None] = []

    def set_walk(self, walk: Walk, without: Subtotal | None = None) -> None:
        """Show a walk, and what it counts without poolers and heads where it has any."""
        rows: list[Row] = []
        self._steps = []
        for part in walk.parts:
            rows.append(self._heading(part))
            self._steps.append(None)
            for step in part.steps:
                rows.append(self._step(step))
                self._steps.append(step)
        if without is not None:
            says = self.tr("without {0}").format(without.difference)
            cells = (
                "",
                self.tr("Subtotal: embeddings and layers"),
                "",
                "",
                f"{without.parameters:,}",
                says,
            )
            rows.append(Row(cells, self.tr("The count often given elsewhere"), is_bold=True))
            self._steps.append(None)
        total = f"{walk.trainable:,} {TICK if walk.reconciles else CROSS}"
        says = self.tr("the steps add up to the model’s count: {0}").format(f"{walk.expected:,}")
        rows.append(Row(("", self.tr("Total"), "", "", total, says), is_bold=True))
        self._steps.append(None)
        self.set_rows(rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if role == PATH_ROLE and index.isValid():
            return self.path(index.row())
        return super().data(index, role)

    def path(self, row: int) -> str | None:
        """Return the module to look at in a row, ``None`` where it has none."""
        step = self._steps[row]
        return None if step is None else step.path

    def row_of(self, step: WalkStep) -> int:
        """Return the row of a step."""
        return next(n for n, s in enumerate(self._steps) if s and s.number == step.number)

    def is_heading(self, row: int) -> bool:
        """Tell whether a row is a part's, or the total's: its title has all columns to itself."""
        return self._steps[row] is None

    def _heading(self, part: WalkPart) -> Row:
        title = part.title
        if part.times > 1:
            times = f"{part.letters} = {part.times}" if part.letters else str(part.times)
            title = self.tr("{0}, of {1}").format(title, times)
        total = f"{part.trainable:,} {TICK if part.reconciles else CROSS}"
        hint = self.tr("The steps add up to the modules’ count: {0}").format(f"{part.expected:,}")
        order = "" if part.is_planned else self.tr("in the order of the module tree")
        return Row(("", title, "", "", total, order), hint, is_bold=True)

    def _step(self, step: WalkStep) -> Row:
        count = step.count
        counted = "\n".join(readable(text) for text in (count.symbols, count.numbers) if text)
        hint = "\n".join(text for text in (step.note, step.path) if text)
        cells = (
            str(step.number),
            step.name,
            _shape(step.input_shape),
            _shape(step.output_shape),
            "" if step.is_input else f"{count.trainable:,}",
            step.values or counted,
        )
        return Row(cells, hint)


class GroupTableModel(TableModel):
    """One row a group: the sum as it is spelled, and with like terms together."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._columns = (
            Column(self.tr("Component")),
            Column(self.tr("Parameters"), is_number=True),
            Column(self.tr("Calculation")),
        )

    def set_groups(self, groups: CountGroups) -> None:
        """Show other groups."""
        self.set_rows(list(self._rows_of(groups)))

    def _rows_of(self, groups: CountGroups) -> Iterator[Row]:
        for group in groups.groups:
            counted = "\n= ".join(group.lines) or self.tr("no formula found")
            yield Row((group.title, f"{group.result:,}", counted), group.text)
        tick = TICK if groups.reconciles else CROSS
        says = count_text(groups.tensors, self.tr("in 1 tensor"), self.tr("in {0} tensors"))
        yield Row((self.tr("Total"), f"{groups.total:,} {tick}", says), is_bold=True)


def _shape(shape: WalkShape | None) -> str:
    if shape is None:
        return ""
    return "\n".join(dict.fromkeys((readable(shape.text), readable(shape.numbers))))
