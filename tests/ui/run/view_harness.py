"""Views of a run over a workspace, with made-up runs or those of an open model."""

from typing import Any

from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.run.run_panel import RunPanel
from bertviewer.ui.run.run_view import RunView
from bertviewer.ui.run.views import VIEWS, RunViews
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageTabs
from tests.charts.runs import LAYERS
from tests.ui.harness import Harness


def made_up_tree() -> TreeRow:
    """Return the module tree of a made-up run, with a part in each layer."""
    layers = tuple(_row(f"layer.{n}", _row(f"layer.{n}.attention")) for n in range(LAYERS))
    return _row("", _row("embeddings"), _row("layer", *layers), _row("pooler"))


def _row(path: str, *children: TreeRow) -> TreeRow:
    depth = path.count(".") + 1 if path else 0
    node = ModuleNode(path, "Module", depth, 0, 0, 0, 0.0, None, {}, "0", None)
    return TreeRow(node, (), children, None)


class RunHarness(Harness):
    """Shows runs, and changes the selection."""

    def run(self, text: str, pair: str | None = None) -> RecordedRun:
        """Run a sentence through the open model."""
        workspace = self.workspace
        sentence = Sentence(text, pair)
        workspace.run_input.set_sentence(sentence)
        is_random = (
            workspace.architecture.source.weights == "none" if workspace.architecture else False
        )
        workspace.run_sentence(sentence, random_weights=is_random)
        self.settle()
        assert workspace.runs.current is not None
        return workspace.runs.current

    def show_run(self, run: ActivationRun | RecordedRun) -> None:
        """Set the current run; a made-up one is like one that was loaded from a file."""
        recorded = run if isinstance(run, RecordedRun) else RecordedRun(run, None)
        self.workspace.show_run(Ran(recorded, None))
        self.settle()

    def keep(self, run: ActivationRun | None = None) -> None:
        """Make a run the baseline, the current one by default."""
        if run is not None:
            self.show_run(run)
        self.workspace.runs.keep()
        self.settle()

    def compare(self, how: Any) -> None:
        """Set how runs are compared: ``overlay`` or ``difference``."""
        self.workspace.runs.compare(how)
        self.settle()

    def select(
        self,
        path: str | None = None,
        token: int | None = None,
        head: int | None = None,
        feature: int | None = None,
    ) -> None:
        """Select a module, token, head or feature."""
        self.workspace.selection.go(SelectionKey(path, token, head, feature))
        self.settle()

    @property
    def place(self) -> SelectionKey:
        """What is selected."""
        return self.workspace.selection.place


class ViewHarness(RunHarness):
    """One view in its tab, which refreshes it as the window does."""

    def __init__(self, page: Page, workspace: Workspace, qtbot: QtBot) -> None:
        kind = next(kind for kind in VIEWS if kind.title == page)
        self.tabs = PageTabs[RunView[Any]](
            (kind,), workspace, lambda view: view.refresh(), context="views"
        )
        self.view = self.tabs.pages.current
        self.tabs.resize(1000, 300)
        super().__init__(self.tabs, workspace, qtbot)
        if workspace.architecture is None:
            workspace.selection.set_tree(made_up_tree())


class PanelHarness(RunHarness):
    """All that is shown below the sentence bar: tokens, the run's line, and all views."""

    def __init__(self, workspace: Workspace, qtbot: QtBot) -> None:
        panel = RunPanel(workspace)
        panel.resize(1360, 500)
        super().__init__(panel, workspace, qtbot)

    @property
    def views(self) -> RunViews:
        """The tabs."""
        return self.find(RunViews)

    def bring(self, page: Page) -> None:
        """Show a view."""
        self.workspace.show_page(page)
        self.settle()
