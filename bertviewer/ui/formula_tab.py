"""The forward maths of the selected node, with its own values and notes in plain words."""

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from bertviewer.core.architecture import Architecture, ModuleNode
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula
from bertviewer.ui.facts import blank_page, heading_label, plain_label
from bertviewer.ui.formula_view import FormulaView
from bertviewer.ui.workspace import Workspace


class FormulaTab(QScrollArea):
    """A formula, its legend, and the notes that a learner asks for."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)

    def refresh(self) -> None:
        """Show the formula of the selected row."""
        row, architecture = self._workspace.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        page = blank_page()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 12, 16, 16)
        layout.setSpacing(8)
        formula = formula_of(row.node, architecture)
        if formula is None:
            layout.addWidget(plain_label(self._without_formula(row.node, architecture)))
        else:
            self._fill(layout, formula)
        layout.addStretch(1)
        self.setWidget(page)

    def _fill(self, layout: QVBoxLayout, formula: Formula) -> None:
        layout.addWidget(heading_label(formula.title, points=2))
        layout.addWidget(plain_label(formula.summary))
        layout.addSpacing(6)
        layout.addWidget(FormulaView(formula))
        layout.addSpacing(6)
        for note in formula.notes:
            layout.addWidget(plain_label(note))
        source = plain_label(self.tr("Source: {0}").format(formula.source))
        source.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        layout.addWidget(source)

    def _without_formula(self, node: ModuleNode, architecture: Architecture) -> str:
        children = [child.name for child in architecture.children(node.path)]
        if children:
            return self.tr(
                "No formula is known for {0}. It is made of {1}; each has a page of its own."
            ).format(node.class_name, ", ".join(children))
        return self.tr("No formula is known for {0}.").format(node.class_name)
