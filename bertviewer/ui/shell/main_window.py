"""Main window: layout of the panels, and what the actions call."""

from PySide6.QtCore import QEvent, QMargins, QRect, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QIcon
from PySide6.QtWidgets import (
    QApplication,
    QLayout,
    QLineEdit,
    QMainWindow,
    QTreeView,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.theme import DARK
from bertviewer.core.runs.device import CPU
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.ui.actions.action_set import ActionSet
from bertviewer.ui.checkpoint.banner import NoticeBanner, RandomBanner
from bertviewer.ui.compare.controller import ComparisonController
from bertviewer.ui.corpus.controller import CorpusController
from bertviewer.ui.docks.dock import Pane
from bertviewer.ui.docks.focus import TabOrder
from bertviewer.ui.docks.panes import Panes
from bertviewer.ui.hub.bar import HubBar
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.palette.palette import Palette, PaletteField
from bertviewer.ui.run.run_area import RunArea
from bertviewer.ui.run.saved_runs import SavedRunBanner
from bertviewer.ui.settings.settings import store
from bertviewer.ui.shell.action_table import action_table, menu_titles
from bertviewer.ui.shell.breadcrumb import Breadcrumb
from bertviewer.ui.shell.exporting import Exporting
from bertviewer.ui.shell.opening import Opening
from bertviewer.ui.shell.status_bar import Status
from bertviewer.ui.shell.tabs import DetailTabs
from bertviewer.ui.shell.top_bar import BannerBar, HistoryButtons, TopBar
from bertviewer.ui.state.pages import MODULE_PAGES, Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import (
    DARK_NAME,
    LIGHT_NAME,
    SETTING,
    apply_appearance,
    store_next_scale,
    stored_appearance,
    theme_of,
)
from bertviewer.ui.tree.panel import ModuleTreePanel, TreeHeading
from bertviewer.ui.welcome.page import WelcomePage
from bertviewer.ui.welcome.question_runner import AnswerBar, QuestionRunner
from bertviewer.ui.widgets.layouts import stacked, vbox
from bertviewer.ui.widgets.messages import ErrorBar, show_about

DEVICE_SETTING = "device"
SIZE = QSize(1440, 900)
FRAME = QMargins(4, 36, 4, 4)
"""What the desktop draws around a window, as far as that is known before it does."""
MODEL_MENU = ("openModel", "openRecent", "openFolder", "openFile", "openHub", "", "head")
"""Entries in the menu of the model chip; "" is a separator."""
MIN_MIDDLE_HEIGHT = 200


class MainWindow(QMainWindow):
    """The window; ``painted`` is emitted once, when it has been painted for the first time."""

    painted = Signal()

    def __init__(self, workspace: Workspace, icon: QIcon) -> None:
        super().__init__()
        self.workspace = workspace
        self._is_painted = False
        self.setWindowTitle("bertviewer")
        self.setWindowIcon(icon)
        layout = self.layout()
        assert layout is not None  # a main window has one
        # Its minimum size is set in event(): Qt would let it grow beyond the screen.
        layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self.resize(SIZE.boundedTo(self._max_size()))
        self.run_area = RunArea(workspace)
        self.opening = Opening(workspace, self)
        self.asking = QuestionRunner(workspace, self, self)
        self.welcome = WelcomePage(workspace, self.opening, self.asking, icon)
        self.welcome.left.connect(self._leave_welcome)
        self._pages = stacked(self.welcome, self._make_middle())
        self.setCentralWidget(self._pages)
        self.panes = self._make_panes()
        self.run_area.opened.connect(self.panes.set_run_open)
        self.run_area.bar.run_button.device_chosen.connect(self.set_device)
        self.comparing = ComparisonController(workspace, self)
        self.corpora = CorpusController(workspace, self)
        self.opening.corpus_wanted.connect(self.corpora.open)
        self.exporting = Exporting(
            workspace, self, lambda: self.run_area.statistic, lambda: self.corpora.folder
        )
        self.finder = Palette(workspace, lambda: self.action_set.entries, self.show_guide, self)
        self.action_set = ActionSet(self, workspace, menu_titles(), action_table(self))
        self._make_bar(icon)
        self.setStatusBar(Status(workspace, self))
        TabOrder(self, self._regions)
        workspace.device_wish = str(QSettings().value(DEVICE_SETTING, CPU))

        workspace.architecture_changed.connect(self._on_architecture)
        workspace.page_requested.connect(self._bring_pane)
        # Deferred: the device may be chosen in the menu that is filled again.
        workspace.device_chosen.connect(lambda: workspace.deferred.add(self.action_set.update))
        QApplication.styleHints().colorSchemeChanged.connect(self._follow_system)

    def open_source(self, source: ModelSource) -> None:
        """Replace the open model."""
        self.opening.open_source(source)

    def open_named(self, name: str) -> None:
        """Open a preset, the demo or a path with the base task."""
        self.opening.open_named(name)

    def show_welcome(self) -> None:
        """Show the start page; the open model stays."""
        self.panes.set_shown(False)
        self._pages.setCurrentWidget(self.welcome)

    def set_sentence(self, text: str, pair: str | None) -> None:
        """Fill in the sentence."""
        self.run_area.bar.set_sentence(text, pair)

    def run(self) -> None:
        """Run the sentence."""
        self.run_area.bar.run()

    def set_appearance(self, name: str) -> None:
        """Apply and store an appearance: light, dark, or the system's."""
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        store(SETTING, name)
        apply_appearance(application, name)
        self.action_set.update()

    def set_device(self, name: str) -> None:
        """Select and store the device for runs."""
        store(DEVICE_SETTING, name)
        self.workspace.set_device(name)

    def step_text_size(self, step: int) -> None:
        """Apply and store a text size a step larger or smaller, or the normal one for 0."""
        store_next_scale(step)
        self.set_appearance(stored_appearance())

    def toggle_theme(self) -> None:
        """Switch between the light and the dark theme."""
        self.set_appearance(LIGHT_NAME if theme_of(self) is DARK else DARK_NAME)

    def export_map(self) -> None:
        """Show the map, and save it as an image."""
        from bertviewer.ui.map.tab import MapTab

        self.workspace.show_page(Page.MAP)
        page = self._tabs.pages.current
        assert isinstance(page, MapTab)
        page.export_image()

    def focus(self, name: str) -> None:
        """Focus the field of that object name, and select its text."""
        edit = self.findChild(QLineEdit, name)
        if isinstance(edit, QLineEdit):
            self.panes.bring_parent(edit)
            edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
            edit.selectAll()

    def show_guide(self, address: str = "") -> None:
        """Show the user guide, at the address of a chapter or section if given."""
        from bertviewer.ui.help.guide import show_guide

        show_guide(self, address)

    def show_about(self) -> None:
        """Show name, version and licence."""
        show_about(self)

    @override
    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and (layout := self.layout()) is not None:
            self.setMinimumSize(layout.totalMinimumSize().boundedTo(self._max_size()))
        if not self._is_painted and event.type() == QEvent.Type.UpdateRequest:
            self._is_painted = True
            QTimer.singleShot(0, self, self.painted.emit)
        return handled

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self.workspace.jobs.forget_requests()
        self.workspace.jobs.cancel()
        self.run_area.bar.stop(0)
        super().closeEvent(event)

    def _max_size(self) -> QSize:
        """Return the size of the screen without a window's frame."""
        return available(self.screen().availableGeometry()).size()

    def _make_middle(self) -> QWidget:
        middle = QWidget()
        layout = vbox(
            AnswerBar(self.asking),
            SavedRunBanner(self.workspace, self.opening),
            parent=middle,
            spacing=0,
        )
        self._tabs = tabs = DetailTabs(self.workspace)
        # In a low window the plots of a run have priority.
        tabs.setMinimumHeight(MIN_MIDDLE_HEIGHT)
        layout.addWidget(tabs, 1)
        return middle

    def _make_panes(self) -> Panes:
        lower = QWidget()
        vbox(HubBar(self.workspace), (self.run_area, 1), parent=lower, spacing=0)
        tree = ModuleTreePanel(self.workspace)
        tree.opened.connect(self._show_on_map)
        panes = (
            Pane("structure", self.tr("Structure"), tree, TreeHeading(self.workspace)),
            Pane("module", self.tr("Module"), Inspector(self.workspace)),
            Pane("run", self.tr("Run"), lower, has_title=False),
        )
        made = Panes(self, panes)
        made.set_shown(False)
        return made

    def _show_on_map(self, key: str) -> None:
        self.workspace.selection.select(key)
        self.workspace.show_page(Page.MAP)

    def _make_bar(self, icon: QIcon) -> None:
        actions, workspace = self.action_set, self.workspace
        back, forward, search = map(actions.entry, ("goBack", "goForward", "palette"))
        path = (
            HistoryButtons(workspace.history, back.tooltip, forward.tooltip),
            Breadcrumb(workspace),
            PaletteField(self.finder, search.shortcut),
        )
        bar = TopBar(workspace, icon, actions, MODEL_MENU, path, self.panes, self.toggle_theme)
        self._bar = bar
        self.addToolBar(bar)
        self.addToolBarBreak()
        # Above the panes, so that they are seen whichever is maximized.
        self._errors = ErrorBar()
        notices, random = NoticeBanner(self.workspace), RandomBanner(self.workspace)
        banners = notices, random, self._errors
        self._banners = BannerBar(*banners)
        self.addToolBar(self._banners)
        self.workspace.jobs.activity_changed.connect(self._on_activity)
        self.menuBar().hide()

    def _regions(self) -> tuple[QWidget, ...]:
        """Return the regions in the order of Tab."""
        dock = self.panes.dock
        panes = dock("structure"), self._pages, dock("run"), dock("module")
        return self._bar, self._banners, *panes

    def _on_architecture(self, architecture: Architecture) -> None:
        self._leave_welcome()
        self.setWindowTitle(f"{architecture.source.name} — bertviewer")

    def _on_activity(self) -> None:
        """Close an earlier error when something else is started."""
        if self.workspace.jobs.activity and not self._errors.is_persistent:
            self._errors.close()

    def _leave_welcome(self) -> None:
        if self._pages.currentWidget() is self.welcome:
            self._pages.setCurrentIndex(1)
            self.panes.set_shown(True)
            self._focus_tree()

    def _bring_pane(self, page: Page) -> None:
        """Show the pane of a page, if it is closed or another one is maximized."""
        if page == Page.MODULE:
            self.panes.bring("module")
        else:
            self.panes.bring(None if page in MODULE_PAGES else "run")

    def _follow_system(self) -> None:
        if stored_appearance() == "system":
            self.set_appearance("system")

    def _focus_tree(self) -> None:
        """Focus the tree, unless the user is typing."""
        tree = self.findChild(QTreeView, "moduleTree")
        if isinstance(tree, QTreeView) and not isinstance(self.focusWidget(), QLineEdit):
            tree.setFocus(Qt.FocusReason.OtherFocusReason)


def available(screen: QRect) -> QRect:
    """Return where in a screen's available area a window with a frame fits."""
    return screen.marginsRemoved(FRAME)
