"""Walkthrough tab: all steps from the inputs to the output, and the count by component."""

from collections.abc import Iterator

from PySide6.QtCore import QModelIndex, QObject
from PySide6.QtWidgets import QTabBar, QTableView, QWidget

from bertviewer.core.expressions.polynomials import Relation
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.util.numbers import count_text
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import (
    ComponentCounts,
    Subtotal,
    count_components,
    relations_text,
    subtotal,
    usual_relations,
)
from bertviewer.core.walkthrough.walkthrough import (
    Section,
    Step,
    StepShape,
    Walkthrough,
    find_step,
)
from bertviewer.ui.module.wrapped_columns import WrappedColumns
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, stacked, vbox
from bertviewer.ui.widgets.tables import Column, Row, TableModel, make_table

TICK, CROSS = "✓", "✗"


class WalkTab(QWidget):
    """Two tables: steps, of which each selects its module, and counts by component."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("walkTab")
        self._workspace = workspace
        self._relations: tuple[Relation, ...] = ()
        self._shown: tuple[Architecture | None, ActivationRun | None] = (None, None)
        self._walkthrough = Walkthrough((), 0)
        self._is_following = False
        self._steps, self._components = StepTableModel(self), ComponentTableModel(self)
        self._table = make_table(self._steps, "walkTable", self.tr("Walkthrough of the model"))
        title = self.tr("Parameter count by component")
        component_table = make_table(self._components, "groupTable", title)
        self._columns = (
            WrappedColumns(self._table, names=1),
            WrappedColumns(component_table, names=0),
        )
        for table in (self._table, component_table):
            table.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self._pages = stacked(self._table, component_table)
        self._page_bar = named(QTabBar(), "walkSwitch")
        self._page_bar.setDrawBase(False)
        self._page_bar.addTab(self.tr("Step by step"))
        self._page_bar.addTab(self.tr("By component"))
        self._page_bar.currentChanged.connect(self._show_page)
        self._caption = plain_label("")
        self._caption.setContentsMargins(16, 6, 16, 6)
        bar = hbox(self._page_bar, STRETCH, margins=(10, 6, 10, 0))
        vbox(bar, self._caption, (self._pages, 1), parent=self, spacing=0)
        self._table.selectionModel().currentRowChanged.connect(self._select_module)

    def refresh(self) -> None:
        """Show the walkthrough of the open model, and mark the step of the selected module."""
        architecture, run = self._workspace.architecture, self._workspace.runs.run
        if architecture is None:
            return
        # For another selection the table keeps its scroll position.
        if self._shown[0] is not architecture or self._shown[1] is not run:
            self._fill(architecture, run)
            self._shown = (architecture, run)
        self._mark_row(architecture)

    def _fill(self, architecture: Architecture, run: ActivationRun | None) -> None:
        self._walkthrough = walkthrough = build_walkthrough(architecture, run)
        relations = usual_relations(architecture.symbols)
        counts = count_components(walkthrough, architecture, relations)
        self._relations = counts.relations
        self._steps.set_walkthrough(walkthrough, subtotal(walkthrough, architecture))
        self._table.clearSpans()
        for row in filter(self._steps.is_heading, range(self._steps.rowCount())):
            self._table.setSpan(row, 1, 1, 3)
        self._components.set_counts(counts)
        for columns in self._columns:
            columns.fit()
        self._show_page()

    def _show_page(self) -> None:
        self._pages.setCurrentIndex(self._page_bar.currentIndex())
        architecture = self._workspace.architecture
        if architecture is not None and "model_type" not in architecture.config:
            text = self.tr("In the order of the names: how the tensors are used is not known.")
        elif self._page_bar.currentIndex() == 0:
            text = self.tr(
                "From input to output. Select a step to see its module; hover for an explanation."
            )
        elif self._relations:
            text = self.tr("The tensors of each component, listed and then added up; here {0}.")
            text = text.format(relations_text(self._relations))
        else:
            text = self.tr("The tensors of each component, listed and then added up.")
        self._caption.setText(text)

    def _mark_row(self, architecture: Architecture) -> None:
        path, current = self._workspace.selection.place.path or "", self._table.currentIndex()
        if current.isValid() and self._steps.path(current.row()) == path:
            return  # of several steps of a module, the clicked one stays selected
        step = find_step(self._walkthrough.steps, architecture, path)
        self._is_following = True
        if step is None:
            self._table.setCurrentIndex(QModelIndex())
        else:
            self._table.selectRow(self._steps.row_of(step))
        self._is_following = False

    def _select_module(self, current: QModelIndex) -> None:
        path = self._steps.path(current.row()) if current.isValid() else None
        # A row may be marked for a module inside its own; that selection stays.
        if path is not None and not self._is_following:
            self._workspace.selection.select(path)


class StepTableModel(TableModel):
    """Each section below a heading with its sum, steps in one or two lines, and the total."""

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
        """Show a walkthrough, and the count without poolers and heads if there are any."""
        rows: list[tuple[Row, Step | None]] = []
        for section in walkthrough.sections:
            rows.append((self._heading_row(section), None))
            rows += [(self._step_row(step), step) for step in section.steps]
        if without is not None:
            title, text = self.tr("Subtotal: embeddings and layers"), self.tr("without {0}")
            text = text.format(without.difference)
            cells = ("", title, "", "", f"{without.parameters:,}", text)
            rows.append(
                (Row(cells, self.tr("The count often given elsewhere"), is_bold=True), None)
            )
        total = f"{walkthrough.trainable:,} {TICK if walkthrough.reconciles else CROSS}"
        text = self.tr("the steps add up to the model’s count: {0}")
        text = text.format(f"{walkthrough.expected:,}")
        rows.append((Row(("", self.tr("Total"), "", "", total, text), is_bold=True), None))
        self._steps = [step for _, step in rows]
        self.set_rows([row for row, _ in rows])

    def path(self, row: int) -> str | None:
        """Return the module of a row, ``None`` if it has none."""
        step = self._steps[row]
        return None if step is None else step.path

    def row_of(self, step: Step) -> int:
        """Return the row of a step."""
        return next(n for n, s in enumerate(self._steps) if s and s.number == step.number)

    def is_heading(self, row: int) -> bool:
        """Return whether a row is a heading or a sum, whose title spans several columns."""
        return self._steps[row] is None

    def _heading_row(self, section: Section) -> Row:
        title = section.title
        if section.times > 1:
            times = f"{section.symbols} = {section.times}" if section.symbols else section.times
            title = self.tr("{0}, of {1}").format(title, times)
        total = f"{section.trainable:,} {TICK if section.reconciles else CROSS}"
        hint = self.tr("The steps add up to the modules’ count: {0}")
        order = "" if section.is_executed else self.tr("in the order of the module tree")
        cells = ("", title, "", "", total, order)
        return Row(cells, hint.format(f"{section.expected:,}"), is_bold=True)

    def _step_row(self, step: Step) -> Row:
        count = step.count
        calculation = "\n".join(readable(text) for text in (count.symbols, count.numbers) if text)
        hint = "\n".join(text for text in (step.note, *step.locations) if text)
        cells = (
            str(step.number),
            step.name,
            _shape_lines(step.input_shape),
            _shape_lines(step.output_shape),
            "" if step.is_input else f"{count.trainable:,}",
            step.values or calculation,
        )
        return Row(cells, hint, path=step.path)


class ComponentTableModel(TableModel):
    """One row for each component: the sum of its tensors, and with like terms combined."""

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
            calculation = "\n= ".join(component.lines) or self.tr("no formula found")
            cells = (component.title, f"{component.parameters:,}", calculation)
            yield Row(cells, component.text)
        tick = TICK if counts.reconciles else CROSS
        tensors = count_text(counts.tensors, self.tr("in 1 tensor"), self.tr("in {0} tensors"))
        yield Row((self.tr("Total"), f"{counts.total:,} {tick}", tensors), is_bold=True)


def _shape_lines(shape: StepShape | None) -> str:
    if shape is None:
        return ""
    return "\n".join(dict.fromkeys((readable(shape.text), readable(shape.numbers))))
