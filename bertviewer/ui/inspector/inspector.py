"""The pane beside the middle: what the selected module is, how large, and what it computes."""

from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from bertviewer.charts.theme import GRID, NORMAL, TITLE
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.folding import TreeRow
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.loading.rebuilding import note_of
from bertviewer.plots.fonts import monospaced, sized
from bertviewer.ui.facts import FactGroup, FactsView
from bertviewer.ui.inspector.cards import Cards
from bertviewer.ui.inspector.check_summary import CheckSummary
from bertviewer.ui.inspector.module_facts import ModuleFacts
from bertviewer.ui.inspector.module_figures import COUNT, module_figures
from bertviewer.ui.labels import blank_page, heading_label, plain_label
from bertviewer.ui.tips import plain_tip
from bertviewer.ui.workspace import Workspace


class Inspector(QScrollArea):
    """Written anew whenever something about the selected row changes, while it is in sight."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._is_stale = False
        self._can_set_formulas = False  # what sets them takes long to import
        self.setObjectName("inspector")
        self.setAccessibleName(self.tr("The selected module"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(240)
        self._title = heading_label("", TITLE)
        self._path = plain_label("")
        self._path.setFont(monospaced(sized(self._path.font(), NORMAL)))
        self._summary = plain_label("")
        for label in (self._path, self._summary):
            label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        for label in (self._title, self._path, self._summary):
            label.setMinimumWidth(1)  # a long word is no reason for a wider pane
        self._cards = Cards(COUNT)
        self._view = FactsView()
        page = blank_page()
        self._facts = ModuleFacts(workspace, self.refresh, page)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(4 * GRID, GRID, 4 * GRID, 4 * GRID)
        layout.setSpacing(GRID)
        for widget in (self._title, self._path, self._summary, self._cards, self._view):
            layout.addWidget(widget)
        layout.addStretch(1)
        self.setWidget(page)
        later = workspace.draw_queue.later
        workspace.selection.row_changed.connect(self._on_change)
        workspace.formulas_changed.connect(self._on_change)
        workspace.runs.run_changed.connect(lambda: later(self._on_change))
        workspace.views_wanted.connect(self._on_views)

    def refresh(self) -> None:
        """Write what is known of the selected row."""
        self._is_stale = False
        row, architecture = self._workspace.selection.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        node = row.node
        formula = formula_of(node, architecture)
        self._title.setText(formula.title if formula else row.class_label)
        self._path.setText(row.key or self.tr("the whole model"))
        self._path.setToolTip(plain_tip(row.key))
        summary = formula.summary if formula else ""
        note = "" if node.path else note_of(architecture.config)
        self._summary.setText("\n".join(filter(None, (summary, note))))
        self._summary.setVisible(bool(self._summary.text()))
        self._cards.show_figures(module_figures(row, architecture, self._workspace.runs.run))
        self._view.show_groups([*self._groups(row, architecture, formula)])

    def showEvent(self, event: QShowEvent) -> None:
        """Write what changed while this was out of sight; Qt calls it."""
        super().showEvent(event)
        if self._is_stale:
            self.refresh()

    def _groups(
        self, row: TreeRow, architecture: Architecture, formula: Formula | None
    ) -> Iterator[FactGroup]:
        count, *others = self._facts.count_groups(row, architecture)
        yield count
        if formula is not None and self._can_set_formulas:
            from bertviewer.ui.formula_view import FormulaView  # and with it Typst

            maths = FormulaView(replace(formula, terms=()))
            yield FactGroup(self.tr("What it computes"), [("", maths)])
        run = self._workspace.runs.run
        if run is not None and run.activation(row.node.path) is not None:
            summary = CheckSummary(self._workspace, row.node.path)
            yield FactGroup(self.tr("Checked"), [("", summary)])
        yield from others
        yield from self._facts.groups(row, architecture, formula)

    def _on_change(self) -> None:
        if self.isVisible():
            self.refresh()
        else:
            self._is_stale = True

    def _on_views(self) -> None:
        if not self._can_set_formulas:
            self._can_set_formulas = True
            self._on_change()
