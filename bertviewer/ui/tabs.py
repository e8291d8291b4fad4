"""The tabs of the detail pane: the one list of them."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QTabWidget, QWidget

from bertviewer.ui.configuration_tab import ConfigurationTab
from bertviewer.ui.formula_tab import FormulaTab
from bertviewer.ui.overview_tab import OverviewTab
from bertviewer.ui.tensors_tab import TensorsTab
from bertviewer.ui.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab's title and what builds it."""

    title: str
    build: Callable[[Workspace], QWidget]


TABS = (
    Tab(QT_TRANSLATE_NOOP("tabs", "Overview"), OverviewTab),
    Tab(QT_TRANSLATE_NOOP("tabs", "Formula"), FormulaTab),
    Tab(QT_TRANSLATE_NOOP("tabs", "Tensors"), TensorsTab),
    Tab(QT_TRANSLATE_NOOP("tabs", "Configuration"), ConfigurationTab),
)


def make_tabs(workspace: Workspace) -> QTabWidget:
    """Return the detail pane."""
    tabs = QTabWidget()
    tabs.setObjectName("detailTabs")
    tabs.setDocumentMode(True)
    for tab in TABS:
        tabs.addTab(tab.build(workspace), QCoreApplication.translate("tabs", tab.title))
    return tabs
