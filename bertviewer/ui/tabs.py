"""The tabs of the detail pane: the one list of them, and when each is written anew."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QProxyStyle, QStyle, QStyleOption, QTabWidget, QWidget

from bertviewer.ui.configuration_tab import ConfigurationTab
from bertviewer.ui.formula_tab import FormulaTab
from bertviewer.ui.overview_tab import OverviewTab
from bertviewer.ui.source_tab import SourceTab
from bertviewer.ui.tensors.tab import TensorsTab
from bertviewer.ui.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.walk_tab import WalkTab
from bertviewer.ui.what_if.tab import WhatIfTab
from bertviewer.ui.workspace import Workspace

Page = OverviewTab | FormulaTab | TensorsTab | ConfigurationTab | SourceTab | WalkTab | WhatIfTab


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab's title, what builds it, and what it shows besides the selected row."""

    title: str
    build: Callable[[Workspace], Page]
    shows_formulas: bool = False
    shows_run: bool = False


TABS = (
    Tab(QT_TRANSLATE_NOOP("tabs", "Overview"), OverviewTab, shows_formulas=True, shows_run=True),
    Tab(QT_TRANSLATE_NOOP("tabs", "Formula"), FormulaTab),
    Tab(QT_TRANSLATE_NOOP("tabs", "Tensors"), TensorsTab, shows_formulas=True),
    Tab(QT_TRANSLATE_NOOP("tabs", "Configuration"), ConfigurationTab, shows_formulas=True),
    Tab(QT_TRANSLATE_NOOP("tabs", "Source"), SourceTab),
    Tab(QT_TRANSLATE_NOOP("tabs", "Walk"), WalkTab, shows_formulas=True, shows_run=True),
    Tab(QT_TRANSLATE_NOOP("tabs", "What if"), WhatIfTab, shows_formulas=True),
)


_PADDING = 14  # pixels beside a tab's title; Fusion's own are 24


class _TightTabs(QProxyStyle):
    """Has all titles in sight, unscrolled, in a window of 1000 pixels too."""

    def pixelMetric(
        self,
        metric: QStyle.PixelMetric,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
    ) -> int:
        """Return a length of the style's; Qt calls it."""
        if metric == QStyle.PixelMetric.PM_TabBarTabHSpace:
            return _PADDING
        return super().pixelMetric(metric, option, widget)


class DetailTabs(QTabWidget):
    """The detail pane. Only the tab in sight is written; another one when it comes into sight."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("detailTabs")
        style = _TightTabs("Fusion")
        style.setParent(self)
        self.tabBar().setStyle(style)
        self.setDocumentMode(True)
        self._pages: list[Page] = []
        for tab in TABS:
            page = tab.build(workspace)
            self._pages.append(page)
            self.addTab(page, QCoreApplication.translate("tabs", tab.title))
        self.currentChanged.connect(self._refresh)
        self.tabBarClicked.connect(self._on_click)
        workspace.row_changed.connect(self._refresh)
        workspace.formulas_changed.connect(lambda: self._refresh_if("shows_formulas"))
        workspace.run_changed.connect(lambda: workspace.turns.later(self._on_run))

    def event(self, event: QEvent) -> bool:
        """Let the page in sight keep a shortcut, as Ctrl+F, from its title too; Qt calls it."""
        if event.type() == QEvent.Type.ShortcutOverride and self.tabBar().hasFocus():
            return self.currentWidget().event(event)
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Hand the page in sight the keys that its title leaves; Qt calls it."""
        super().keyPressEvent(event)
        if not event.isAccepted() and self.tabBar().hasFocus():
            event.accept()
            self.currentWidget().event(event)

    def _on_click(self, number: int) -> None:
        """Have the keys go to a page that is read with them; other ones leave them to the tree."""
        page = self.widget(number)
        if page is not None and page.focusProxy() is not None:
            page.setFocus(Qt.FocusReason.MouseFocusReason)

    def _refresh(self) -> None:
        self._pages[self.currentIndex()].refresh()

    def _on_run(self) -> None:
        self._refresh_if("shows_run")

    def _refresh_if(self, flag: str) -> None:
        if getattr(TABS[self.currentIndex()], flag):
            self._refresh()
