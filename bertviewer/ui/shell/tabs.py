"""Tabs in the middle of the window: the pages of the selected module."""

from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from typing_extensions import override

from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageKind, PageTabs

if TYPE_CHECKING:
    from bertviewer.ui.map.tab import MapTab
    from bertviewer.ui.module.configuration_tab import ConfigurationTab
    from bertviewer.ui.module.formula_tab import FormulaTab
    from bertviewer.ui.module.source_tab import SourceTab
    from bertviewer.ui.module.walkthrough_tab import WalkTab
    from bertviewer.ui.tensors.tab import TensorsTab
    from bertviewer.ui.what_if.tab import WhatIfTab

    Tab: TypeAlias = (
        MapTab | FormulaTab | TensorsTab | ConfigurationTab | SourceTab | WalkTab | WhatIfTab
    )


def _map(workspace: Workspace) -> "MapTab":
    from bertviewer.ui.map.tab import MapTab

    return MapTab(workspace)


def _formula(workspace: Workspace) -> "FormulaTab":
    from bertviewer.ui.module.formula_tab import FormulaTab

    return FormulaTab(workspace)


def _tensors(workspace: Workspace) -> "TensorsTab":
    from bertviewer.ui.tensors.tab import TensorsTab

    return TensorsTab(workspace)


def _configuration(workspace: Workspace) -> "ConfigurationTab":
    from bertviewer.ui.module.configuration_tab import ConfigurationTab

    return ConfigurationTab(workspace)


def _source(workspace: Workspace) -> "SourceTab":
    from bertviewer.ui.module.source_tab import SourceTab

    return SourceTab(workspace)


def _walk(workspace: Workspace) -> "WalkTab":
    from bertviewer.ui.module.walkthrough_tab import WalkTab

    return WalkTab(workspace)


def _what_if(workspace: Workspace) -> "WhatIfTab":
    from bertviewer.ui.what_if.tab import WhatIfTab

    return WhatIfTab(workspace)


TABS: "tuple[PageKind[Tab], ...]" = (
    PageKind(
        Page.MAP,
        _map,
        frozenset({"row", "head", "formulas", "run", "comparison"}),
    ),
    PageKind(Page.FORMULA, _formula, frozenset({"row"})),
    PageKind(Page.TENSORS, _tensors, frozenset({"row", "formulas", "run"})),
    PageKind(Page.WALK, _walk, frozenset({"row", "formulas", "run"})),
    PageKind(Page.WHAT_IF, _what_if, frozenset({"row", "formulas"})),
    PageKind(Page.CONFIGURATION, _configuration, frozenset({"row", "formulas"})),
    PageKind(Page.SOURCE, _source, frozenset({"row"})),
)


class DetailTabs(PageTabs["Tab"]):
    """The tabs; a page is built and refreshed when it is shown."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(
            TABS,
            workspace,
            lambda page: page.refresh(),
            context="tabs",
            at_once=frozenset({"row", "formulas"}),
        )
        self.setObjectName("detailTabs")
        self.tabBarClicked.connect(self._on_click)

    @override
    def event(self, event: QEvent) -> bool:
        # The visible page may claim a shortcut, as Ctrl+F, while the tab bar has the focus.
        if event.type() == QEvent.Type.ShortcutOverride and self.tabBar().hasFocus():
            return self.pages.current.event(event)
        return super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        # The visible page gets the keys that the tab bar ignores.
        super().keyPressEvent(event)
        if not event.isAccepted() and self.tabBar().hasFocus():
            event.accept()
            self.pages.current.event(event)

    def _on_click(self, number: int) -> None:
        """Focus a page that is read with the keyboard; for others the tree keeps the focus."""
        if number < 0:
            return
        page = self.pages.page(number)
        if page.focusProxy() is not None:
            page.setFocus(Qt.FocusReason.MouseFocusReason)
