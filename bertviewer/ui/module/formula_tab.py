"""Formula tab: the forward computation of the selected module, its symbols, notes and check."""

from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout

from bertviewer.charts.theme import TITLE
from bertviewer.core.formulas.catalogue import formula_of, formula_of_parts
from bertviewer.core.formulas.formula import Formula
from bertviewer.ui.module.check_panel import CheckPanel
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import RichLabel
from bertviewer.ui.widgets.formula_view import FormulaView
from bertviewer.ui.widgets.labels import blank_page, heading_label, muted_label, plain_label
from bertviewer.ui.widgets.layouts import vbox


class FormulaTab(QScrollArea):
    """A formula, its legend, notes, source, and the check panel."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self._check: CheckPanel | None = None
        workspace.runs.check_changed.connect(self._show_check)

    def refresh(self) -> None:
        """Show the formula of the selected row."""
        row, architecture = self._workspace.selection.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        page = blank_page()
        layout = vbox(parent=page, margins=(16, 12, 16, 16), spacing=8)
        formula = formula_of(row.node, architecture)
        if formula is None:
            self._without_formula(layout, formula_of_parts(row.node, architecture))
        else:
            self._fill(layout, formula)
        self._check = CheckPanel(self._workspace, row)
        layout.addWidget(self._check)
        layout.addStretch(1)
        self.setWidget(page)

    def _show_check(self) -> None:
        """Scroll to the result of a check, at the end of the page."""
        row = self._workspace.selection.row
        if row is None or self._check is None or not self.isVisible():
            return
        if row.node.path in self._workspace.runs.checks:
            self._workspace.deferred.add(self._scroll_to_check)

    def _scroll_to_check(self) -> None:
        page = self.widget()
        layout = None if page is None else page.layout()
        if page is None or layout is None or self._check is None:
            return
        # Resize now; Qt would do it later.
        layout.activate()
        page.resize(page.width(), layout.totalHeightForWidth(page.width()))
        self.verticalScrollBar().setValue(self._check.y())

    def _fill(self, layout: QVBoxLayout, formula: Formula) -> None:
        self._maths(layout, formula)
        layout.addWidget(muted_label(self.tr("Source: {0}").format(formula.source)))

    def _without_formula(self, layout: QVBoxLayout, parts: Formula) -> None:
        self._maths(layout, parts)
        if parts.source == parts.title:
            return  # only the names of tensors are known
        text = self.tr("For how {0} combines its parts, see its code in the Source tab.")
        layout.addWidget(plain_label(text.format(parts.title)))
        layout.addWidget(muted_label(self.tr("Defined in {0}").format(parts.source)))

    def _maths(self, layout: QVBoxLayout, formula: Formula) -> None:
        layout.addWidget(heading_label(formula.title, TITLE))
        layout.addWidget(RichLabel(formula.summary, self._workspace))
        layout.addSpacing(6)
        layout.addWidget(FormulaView(formula))
        layout.addSpacing(6)
        for note in formula.notes:
            layout.addWidget(RichLabel(note, self._workspace))
