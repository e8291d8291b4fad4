"""Inspector: the panel about the selected module, whose page is imported when needed."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget
from typing_extensions import override

from bertviewer.ui.state.pages import Page, PageSubject, Question
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import named, vbox

if TYPE_CHECKING:
    from bertviewer.ui.module.inspector_page import InspectorPage


class Inspector(QWidget):
    """Refreshes its page when something about the selected row changes, while it is visible.

    The page is created after the tree and the middle have been drawn. The summary of the check is
    below the scroll area.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._page: InspectorPage | None = None
        self._is_stale = self._can_set_formulas = False
        self.setObjectName("inspector")
        self.setMinimumWidth(240)
        self._scroll = named(
            QScrollArea(), "inspectorPage", accessible_name=self.tr("The selected module")
        )
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.viewport().setBackgroundRole(QPalette.ColorRole.Base)
        self._layout = vbox((self._scroll, 1), parent=self, spacing=0)
        workspace.selection.row_changed.connect(self._on_change)
        workspace.formulas_changed.connect(self._on_change)
        workspace.runs.run_changed.connect(lambda: workspace.deferred.add(self._on_change))
        workspace.overview_ready.connect(self._build)
        workspace.page_requested.connect(self._on_page_requested)
        # Later: the views of the run are created first.
        workspace.views_ready.connect(lambda: workspace.deferred.add(self._on_views))

    def refresh(self) -> None:
        """Show the selected row."""
        self._is_stale = False
        if self._page is not None:
            self._page.refresh()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self.refresh()

    def _build(self) -> None:
        """Create the page."""
        if self._page is None:
            from bertviewer.ui.module.inspector_page import CheckSummary, InspectorPage

            self._page = InspectorPage(self._workspace)
            self._page.can_set_formulas = self._can_set_formulas
            self._scroll.setWidget(self._page)
            self._layout.addWidget(CheckSummary(self._workspace, self._page.stale))
            self._on_change()

    def _on_page_requested(self, page: Page, subject: PageSubject | None) -> None:
        """Open a question of the selected module, and scroll to its answer."""
        if page != Page.MODULE or self._page is None or not isinstance(subject, Question):
            return
        if self._is_stale:
            self.refresh()
        row = self._page.open_question(subject.name)
        if row is not None:
            self._workspace.deferred.add(lambda: self._scroll.ensureWidgetVisible(row))

    def _on_change(self) -> None:
        if self.isVisible():
            self.refresh()
        else:
            self._is_stale = True

    def _on_views(self) -> None:
        self._build()
        if self._page is not None and not self._can_set_formulas:
            self._can_set_formulas = self._page.can_set_formulas = True
            self._on_change()
