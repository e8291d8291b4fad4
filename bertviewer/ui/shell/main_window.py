"""The main window: the tree, the details, the sentence and its plots, laid out."""

from PySide6.QtCore import QEvent, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QIcon
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QMainWindow,
    QTreeView,
    QWidget,
)

from bertviewer.charts.theme import DARK
from bertviewer.core.runs.device import CPU
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
from bertviewer.ui.shell.drop_hint import DropHint
from bertviewer.ui.shell.exporting import Exporting
from bertviewer.ui.shell.opening import Opening
from bertviewer.ui.shell.status_bar import Status
from bertviewer.ui.shell.tabs import DetailTabs
from bertviewer.ui.shell.top_bar import BannerBar, HistoryButtons, TopBar
from bertviewer.ui.shell.window_geometry import LeastSize, room_on
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
_WISHED_SIZE = QSize(1440, 900)
MODEL_MENU = ("openModel", "openRecent", "openFolder", "openFile", "openHub", "", "head")
"""Entries in the menu of the model chip; "" is a separator."""
LEAST_MIDDLE = 200


class MainWindow(QMainWindow):
    """Lays the panels out and carries out the menus' actions.

    ``painted`` is emitted once, when the window has drawn itself for the first time.
    """

    painted = Signal()

    def __init__(self, workspace: Workspace, icon: QIcon) -> None:
        super().__init__()
        self.workspace = workspace
        self._is_painted = False
        self.setWindowTitle("bertviewer")
        self.setWindowIcon(icon)
        LeastSize(self)
        self.resize(_WISHED_SIZE.boundedTo(room_on(self.screen().availableGeometry()).size()))
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
        self.opening.dragged.connect(DropHint(self).show_over)
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
        # Later: the choice may come from the menu that is filled anew then.
        workspace.device_chosen.connect(lambda: workspace.deferred.add(self.action_set.update))
        QApplication.styleHints().colorSchemeChanged.connect(self._follow_system)

    def open_source(self, source: ModelSource) -> None:
        """Open a model in place of the one that is open."""
        self.opening.open_source(source)

    def open_named(self, name: str) -> None:
        """Open a preset, the demo or a path with the base task."""
        self.opening.open_named(name)

    def show_welcome(self) -> None:
        """Show what there is to open; what is open stays."""
        self.panes.set_shown(False)
        self._pages.setCurrentWidget(self.welcome)

    def set_sentence(self, text: str, pair: str | None) -> None:
        """Fill the sentence in."""
        self.run_area.bar.set_sentence(text, pair)

    def run(self) -> None:
        """Run the sentence that is filled in."""
        self.run_area.bar.run()

    def set_appearance(self, name: str) -> None:
        """Make the window light or dark, or as the system is, and remember it."""
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        store(SETTING, name)
        apply_appearance(application, name)
        self.action_set.update()

    def set_device(self, name: str) -> None:
        """Run sentences on another device from now on, and remember it."""
        store(DEVICE_SETTING, name)
        self.workspace.set_device(name)

    def step_text_size(self, step: int) -> None:
        """Make all type a step larger or smaller, 0 as it is usually, and remember it."""
        store_next_scale(step)
        self.set_appearance(stored_appearance())

    def toggle_theme(self) -> None:
        """Make a light window dark, and a dark one light."""
        self.set_appearance(LIGHT_NAME if theme_of(self) is DARK else DARK_NAME)

    def export_map(self) -> None:
        """Show the map, and save it as an image."""
        from bertviewer.ui.map.tab import MapTab

        self.workspace.show_page(Page.MAP)
        page = self._tabs.pages.current
        assert isinstance(page, MapTab)
        page.export_image()

    def focus(self, name: str) -> None:
        """Put the cursor into the field of that object name."""
        edit = self.findChild(QLineEdit, name)
        if isinstance(edit, QLineEdit):
            self.panes.bring_parent(edit)
            edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
            edit.selectAll()

    def show_guide(self, address: str = "") -> None:
        """Show the user guide, at a chapter or section by its address if given."""
        from bertviewer.ui.help.guide import show_guide

        show_guide(self, address)

    def show_about(self) -> None:
        """Say what this program is."""
        show_about(self)

    def event(self, event: QEvent) -> bool:
        """Notice the first time that the window is drawn; Qt calls it."""
        handled = super().event(event)
        if not self._is_painted and event.type() == QEvent.Type.UpdateRequest:
            self._is_painted = True
            QTimer.singleShot(0, self, self.painted.emit)
        return handled

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop what is going on; Qt calls it."""
        self.workspace.jobs.forget_requests()  # nobody is there to be told
        self.workspace.jobs.cancel()
        self.run_area.bar.stop(0)
        super().closeEvent(event)

    def _make_middle(self) -> QWidget:
        middle = QWidget()
        layout = vbox(
            AnswerBar(self.asking),
            SavedRunBanner(self.workspace, self.opening),
            parent=middle,
            spacing=0,
        )
        self._tabs = tabs = DetailTabs(self.workspace)
        # In a low window all pages give way, for the plots of a run.
        tabs.setMinimumHeight(LEAST_MIDDLE)
        layout.addWidget(tabs, 1)
        return middle

    def _make_panes(self) -> Panes:
        lower = QWidget()
        vbox(HubBar(self.workspace), (self.run_area, 1), parent=lower, spacing=0)
        tree = ModuleTreePanel(self.workspace)
        tree.opened.connect(self._look_closely)
        panes = (
            Pane("structure", self.tr("Structure"), tree, TreeHeading(self.workspace)),
            Pane("module", self.tr("Module"), Inspector(self.workspace)),
            Pane("run", self.tr("Run"), lower, has_title=False),
        )
        made = Panes(self, panes)
        made.set_shown(False)
        return made

    def _look_closely(self, key: str) -> None:
        """Show a module of the tree in the first tab, which draws it."""
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
        # Above everything: it is to be seen whichever pane has all the room.
        self._errors = ErrorBar()
        notices, random = NoticeBanner(self.workspace), RandomBanner(self.workspace)
        banners = notices, random, self._errors
        self._banners = BannerBar(*banners)
        self.addToolBar(self._banners)
        self.workspace.jobs.activity_changed.connect(self._on_activity)
        self.menuBar().hide()

    def _regions(self) -> tuple[QWidget, ...]:
        """Return what Tab goes through, in this order."""
        dock = self.panes.dock
        panes = dock("structure"), self._pages, dock("run"), dock("module")
        return self._bar, self._banners, *panes

    def _on_architecture(self) -> None:
        architecture = self.workspace.architecture
        assert architecture is not None
        self._leave_welcome()
        self.setWindowTitle(f"{architecture.source.name} — bertviewer")

    def _on_activity(self) -> None:
        """Take back what failed before, now that something else is going on."""
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
        """Have the keys go to the tree, if they go nowhere yet."""
        tree = self.findChild(QTreeView, "moduleTree")
        if isinstance(tree, QTreeView) and not isinstance(self.focusWidget(), QLineEdit):
            tree.setFocus(Qt.FocusReason.OtherFocusReason)
