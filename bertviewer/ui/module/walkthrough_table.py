"""Table models of the walkthrough: its steps with shapes and counts, and its components."""

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QObject, Qt

from bertviewer.core.schema.count_steps import readable
from bertviewer.core.util.numbers import count_text
from bertviewer.core.walkthrough.counts import ComponentCounts, Subtotal
from bertviewer.core.walkthrough.walkthrough import Section, Step, StepShape, Walkthrough
from bertviewer.ui.widgets.table_export import PATH_ROLE
from bertviewer.ui.widgets.tables import Column, Index, Row, TableModel

TICK, CROSS = "✓", "✗"


class WalkTableModel(TableModel):
    """Each section under its sum, a step in one or two lines, the total last."""

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
        self._steps: list[Step | None] = []

    def set_walkthrough(self, walkthrough: Walkthrough, without: Subtotal | None = None) -> None:
        """Show a walkthrough, and its count without poolers and heads where it has any."""
        rows: list[Row] = []
        self._steps = []
        for section in walkthrough.sections:
            rows.append(self._heading(section))
            self._steps.append(None)
            for step in section.steps:
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
        total = f"{walkthrough.trainable:,} {TICK if walkthrough.reconciles else CROSS}"
        says = self.tr("the steps add up to the model’s count: {0}").format(
            f"{walkthrough.expected:,}"
        )
        rows.append(Row(("", self.tr("Total"), "", "", total, says), is_bold=True))
        self._steps.append(None)
        self.set_rows(rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if role == PATH_ROLE and index.isValid():
            return self.path(index.row())
        return super().data(index, role)

    def path(self, row: int) -> str | None:
        """Return the module to select for a row, ``None`` where it has none."""
        step = self._steps[row]
        return None if step is None else step.path

    def row_of(self, step: Step) -> int:
        """Return the row of a step."""
        return next(n for n, s in enumerate(self._steps) if s and s.number == step.number)

    def is_heading(self, row: int) -> bool:
        """Return whether a row is a section's or the total's, with a title across the columns."""
        return self._steps[row] is None

    def _heading(self, section: Section) -> Row:
        title = section.title
        if section.times > 1:
            times = f"{section.symbols} = {section.times}" if section.symbols else section.times
            title = self.tr("{0}, of {1}").format(title, times)
        total = f"{section.trainable:,} {TICK if section.reconciles else CROSS}"
        hint = self.tr("The steps add up to the modules’ count: {0}").format(
            f"{section.expected:,}"
        )
        order = "" if section.is_executed else self.tr("in the order of the module tree")
        return Row(("", title, "", "", total, order), hint, is_bold=True)

    def _step(self, step: Step) -> Row:
        count = step.count
        counted = "\n".join(readable(text) for text in (count.symbols, count.numbers) if text)
        hint = "\n".join(text for text in (step.note, *step.locations) if text)
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
    """One row per component: the sum tensor by tensor, and with like terms together."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._columns = (
            Column(self.tr("Component")),
            Column(self.tr("Parameters"), is_number=True),
            Column(self.tr("Calculation")),
        )

    def set_counts(self, counts: ComponentCounts) -> None:
        """Show the counts of a model's components."""
        self.set_rows(list(self._rows_of(counts)))

    def _rows_of(self, counts: ComponentCounts) -> Iterator[Row]:
        for component in counts.components:
            counted = "\n= ".join(component.lines) or self.tr("no formula found")
            yield Row((component.title, f"{component.parameters:,}", counted), component.text)
        tick = TICK if counts.reconciles else CROSS
        says = count_text(counts.tensors, self.tr("in 1 tensor"), self.tr("in {0} tensors"))
        yield Row((self.tr("Total"), f"{counts.total:,} {tick}", says), is_bold=True)


def _shape(shape: StepShape | None) -> str:
    if shape is None:
        return ""
    return "\n".join(dict.fromkeys((readable(shape.text), readable(shape.numbers))))
