"""Page of the inspector: what the selected module is, its figures, formula and facts."""

from collections.abc import Iterator

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QPushButton, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, NORMAL, SMALL, TITLE
from bertviewer.core.explain.answers import answers_for_module
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.schema.check import Check
from bertviewer.core.util.numbers import count_text, number_text
from bertviewer.plots.fonts import monospaced, sized
from bertviewer.ui.module.facts import ModuleFacts
from bertviewer.ui.module.figure_cards import FigureCards, module_figures
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import RIGHT, WARNING
from bertviewer.ui.views.questions import Questions
from bertviewer.ui.views.staleness import StaleLabel
from bertviewer.ui.widgets.facts import FactGroup, FactsView
from bertviewer.ui.widgets.labels import (
    Badge,
    ElidedLabel,
    heading_label,
    plain_label,
    plain_tooltip,
)
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, vbox


class InspectorPage(QWidget):
    """Everything about the selected row; ``stale`` tells what the last run was of.

    Formulas are shown once ``can_set_formulas`` is true: importing Typst takes long.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.can_set_formulas = False
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self._title = heading_label("", TITLE)
        self._path = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self._path.setFont(monospaced(sized(self._path.font(), NORMAL)))
        self._summary = plain_label("")
        for label in (self._path, self._summary):
            label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        for label in (self._title, self._path, self._summary):
            label.setMinimumWidth(1)  # long words don't widen the panel
        self._cards = FigureCards()
        self._formula_view, self._facts_view = FactsView(), FactsView()
        self._questions_heading = heading_label(self.tr("Common questions"))
        self._questions = named(Questions(workspace), "moduleQuestions")
        self._facts = ModuleFacts(workspace, self.refresh, self)
        self.stale = StaleLabel("staleModule", workspace, self)
        vbox(
            self._title,
            self._path,
            self._summary,
            self._cards,
            self._formula_view,
            self._questions_heading,
            self._questions,
            self._facts_view,
            STRETCH,
            parent=self,
            margins=(4 * GRID, 0, 4 * GRID, 4 * GRID),
            spacing=GRID // 2,
        )

    def refresh(self) -> None:
        """Show the selected row."""
        row, architecture = self._workspace.selection.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        node, run = row.node, self._workspace.runs.run
        formula = formula_of(node, architecture)
        self._title.setText(formula.title if formula else row.class_label)
        self._path.setText(row.key or self.tr("the whole model"))
        self._path.setToolTip(plain_tooltip(row.key))
        self._summary.setText(formula.summary if formula else "")
        self._summary.setVisible(bool(self._summary.text()))
        is_deriving = self._workspace.is_deriving
        self._cards.show_figures(module_figures(row, architecture, run, is_deriving=is_deriving))
        self._formula_view.show_groups([*self._formula_group(formula)])
        # Folded layers have no common output.
        answers = answers_for_module(architecture, node, None if row.is_folded else run)
        self._questions.show_answers(answers)
        self._questions_heading.setVisible(bool(self._questions.names))
        self._facts_view.show_groups(self._facts.groups(row, architecture, formula))

    def open_question(self, name: str) -> QWidget | None:
        """Open a question; return its row, ``None`` if the module does not have it."""
        return self._questions.open(name)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        self.stale.mark(painter)
        painter.end()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._workspace.deferred.add(self.refresh)

    def _formula_group(self, formula: Formula | None) -> Iterator[FactGroup]:
        if formula is not None and self.can_set_formulas:
            from bertviewer.ui.widgets.formula_view import FormulaView  # imports Typst

            view = FormulaView(replace(formula, terms=()), is_small=True)
            yield FactGroup(self.tr("What it computes"), [("", view)])


class CheckSummary(QWidget):
    """Result of the check as a badge, the largest difference, and the button that verifies.

    It is shown if the last run called the module. The button always stays, so that the focus does.
    """

    def __init__(self, workspace: Workspace, stale: QWidget) -> None:
        super().__init__()
        self._workspace = workspace
        self._badge = named(Badge(), "checkPill")
        self._text = named(ElidedLabel(), "checkDifference")
        self._text.setFont(sized(self._text.font(), SMALL))
        self._text.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        tip = self.tr(
            "Recompute the output in float64 from the inputs recorded in the last run and compare"
        )
        button = named(QPushButton(self.tr("Verify")), "quickCheckButton", tooltip=tip)
        button.clicked.connect(self._check)
        line = hbox(self._badge, STRETCH, button)
        margins = 4 * GRID, GRID, 4 * GRID, GRID
        vbox(line, self._text, stale, parent=self, margins=margins, spacing=0)
        for signal in (
            workspace.selection.row_changed,
            workspace.runs.run_changed,
            workspace.runs.check_changed,
        ):
            signal.connect(self._update)
        self._update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, role = QPainter(self), QPalette.ColorRole
        painter.fillRect(self.rect(), self.palette().color(role.Base))
        # A line below the scroll area.
        painter.fillRect(QRectF(0, 0, self.width(), 1), self.palette().color(role.Mid))
        painter.end()

    def _check(self) -> None:
        row = self._workspace.selection.row
        if row is not None:
            self._workspace.check(row.node.path)

    def _update(self) -> None:
        row, run = self._workspace.selection.row, self._workspace.runs.run
        is_called = row is not None and run is not None and run.activation(row.node.path)
        self.setVisible(bool(is_called))
        check = None if row is None else self._workspace.runs.checks.get(row.node.path)
        self._badge.setVisible(check is not None)
        self._text.setVisible(check is not None)
        if check is not None:
            self._show(check)

    def _show(self, check: Check) -> None:
        count, failed = len(check.steps), len(check.failed)
        text = count_text(count, self.tr("1 step verified"), self.tr("{0} steps verified"))
        if failed:
            partly = self.tr("{0} of {1} steps verified")
            text = partly.format(f"{count - failed:,}", f"{count:,}")
        self._badge.show_text(text, RIGHT if count and not failed else WARNING)
        errors = [step for step in check.steps if step.max_abs_error is not None]
        if not errors:
            self._text.setText(self.tr("Nothing could be compared."))
            return
        worst = max(errors, key=lambda step: step.max_abs_error or 0.0)
        numbers = number_text(worst.max_abs_error or 0.0, 2), number_text(worst.tolerance, 2)
        self._text.setText(self.tr("max difference {0}, tolerance {1}").format(*numbers))
