"""The tabs of the detail pane: the one list of them, and when each is written anew."""

from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent

from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
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

    Page: TypeAlias = (
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


TABS: "tuple[PageKind[Page], ...]" = (
    PageKind(
        QT_TRANSLATE_NOOP("tabs", "Map"),
        _map,
        frozenset({"row", "head", "formulas", "run", "comparison"}),
    ),
    PageKind(QT_TRANSLATE_NOOP("tabs", "Formula"), _formula, frozenset({"row"})),
    PageKind(QT_TRANSLATE_NOOP("tabs", "Tensors"), _tensors, frozenset({"row", "formulas", "run"})),
    PageKind(QT_TRANSLATE_NOOP("tabs", "Walk"), _walk, frozenset({"row", "formulas", "run"})),
    PageKind(QT_TRANSLATE_NOOP("tabs", "What if"), _what_if, frozenset({"row", "formulas"})),
    PageKind(
        QT_TRANSLATE_NOOP("tabs", "Configuration"), _configuration, frozenset({"row", "formulas"})
    ),
    PageKind(QT_TRANSLATE_NOOP("tabs", "Source"), _source, frozenset({"row"})),
)


class DetailTabs(PageTabs["Page"]):
    """The detail pane. Only the tab in sight is written; another one when it comes into sight."""

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

    def event(self, event: QEvent) -> bool:
        """Let the page in sight keep a shortcut, as Ctrl+F, from its title too; Qt calls it."""
        if event.type() == QEvent.Type.ShortcutOverride and self.tabBar().hasFocus():
            return self.pages.current.event(event)
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Hand the page in sight the keys that its title leaves; Qt calls it."""
        super().keyPressEvent(event)
        if not event.isAccepted() and self.tabBar().hasFocus():
            event.accept()
            self.pages.current.event(event)

    def _on_click(self, number: int) -> None:
        """Have the keys go to a page that is read with them; other ones leave them to the tree."""
        if number < 0:
            return
        page = self.pages.page(number)
        if page.focusProxy() is not None:
            page.setFocus(Qt.FocusReason.MouseFocusReason)
