"""What the pane of the selected module shows: what it is, how large, and what it computes."""

from collections.abc import Iterator

from msgspec.structs import replace
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QWidget

from bertviewer.charts.theme import GRID, NORMAL, TITLE
from bertviewer.core.explain.answers import answers_for_module
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.plots.fonts import monospaced, sized
from bertviewer.ui.module.figure_cards import Cards
from bertviewer.ui.module.module_facts import ModuleFacts
from bertviewer.ui.module.module_figures import COUNT, module_figures, share_text
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.questions import Questions
from bertviewer.ui.views.staleness import StaleLabel
from bertviewer.ui.widgets.facts import FactGroup, FactsView
from bertviewer.ui.widgets.labels import ElidedLabel, heading_label, plain_label, plain_tooltip
from bertviewer.ui.widgets.layouts import STRETCH, named, vbox


class InspectorPage(QWidget):
    """Written anew by ``refresh``; formulas are set once ``can_set_formulas``."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.can_set_formulas = False  # what sets them takes long to import
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self._title = heading_label("", TITLE)
        self._path = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self._path.setFont(monospaced(sized(self._path.font(), NORMAL)))
        self._summary = plain_label("")
        for label in (self._path, self._summary):
            label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        for label in (self._title, self._path, self._summary):
            label.setMinimumWidth(1)  # a long word is no reason for a wider pane
        self._cards = Cards(COUNT, share_text("99.99%"))
        self._first, self._view = FactsView(), FactsView()
        self._asked = heading_label(self.tr("Common questions"))
        self._questions = named(Questions(workspace), "moduleQuestions")
        self._facts = ModuleFacts(workspace, self.refresh, self)
        self.stale = StaleLabel("staleModule", workspace, self)
        vbox(
            self._title,
            self._path,
            self._summary,
            self._cards,
            self._first,
            self._asked,
            self._questions,
            self._view,
            STRETCH,
            parent=self,
            margins=(4 * GRID, 0, 4 * GRID, 4 * GRID),
            spacing=GRID // 2,
        )

    def refresh(self) -> None:
        """Write what is known of the selected row."""
        row, architecture = self._workspace.selection.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        node = row.node
        formula = formula_of(node, architecture)
        self._title.setText(formula.title if formula else row.class_label)
        self._path.setText(row.key or self.tr("the whole model"))
        self._path.setToolTip(plain_tooltip(row.key))
        self._summary.setText(formula.summary if formula else "")
        self._summary.setVisible(bool(self._summary.text()))
        self._cards.show_figures(
            module_figures(
                row,
                architecture,
                self._workspace.runs.run,
                is_deriving=self._workspace.is_deriving,
            )
        )
        self._first.show_groups([*self._maths(formula)])
        # Several layers in one row have no one output.
        run = None if row.is_folded else self._workspace.runs.run
        self._questions.show_answers(answers_for_module(architecture, node, run))
        self._asked.setVisible(bool(self._questions.names))
        self._view.show_groups(
            [
                *self._facts.count_groups(row, architecture),
                *self._facts.groups(row, architecture, formula),
            ]
        )

    def open_question(self, name: str) -> QWidget | None:
        """Open the answer of an explanation; return its row, ``None`` if it is not asked here."""
        return self._questions.open(name)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Mark figures of a run that is stale; Qt calls it."""
        super().paintEvent(event)
        painter = QPainter(self)
        self.stale.mark(painter)
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        """Arrange facts anew for letters of another size; Qt calls it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._workspace.draw_queue.later(self.refresh)

    def _maths(self, formula: Formula | None) -> Iterator[FactGroup]:
        if formula is not None and self.can_set_formulas:
            from bertviewer.ui.widgets.formula_view import FormulaView  # and with it Typst

            maths = FormulaView(replace(formula, terms=()), is_small=True)
            yield FactGroup(self.tr("What it computes"), [("", maths)])
