"""Harness that shows made-up runs in a view without a model."""

from typing import Any, cast

from pytestqt.qtbot import QtBot

from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.run.run_view import RunView
from bertviewer.ui.state.workspace import Workspace
from tests.charts.runs import LAYERS


def made_up_tree() -> TreeRow:
    """Return the module tree of a made-up run, with a part in each layer."""
    layers = tuple(_row(f"layer.{n}", _row(f"layer.{n}.attention")) for n in range(LAYERS))
    return _row("", _row("embeddings"), _row("layer", *layers), _row("pooler"))


def _row(path: str, *children: TreeRow) -> TreeRow:
    depth = path.count(".") + 1 if path else 0
    node = ModuleNode(path, "Module", depth, 0, 0, 0, 0.0, None, {}, "0", None)
    return TreeRow(node, (), children, None)


class ViewHarness:
    """A visible view that is refreshed when runs or the selection change."""

    def __init__(self, view: RunView[Any], qtbot: QtBot) -> None:
        self.view, self._qtbot = view, qtbot
        self.workspace: Workspace = view.workspace
        self.workspace.selection.set_tree(made_up_tree())
        for signal in (
            self.workspace.runs.run_changed,
            self.workspace.runs.comparison_changed,
            self.workspace.selection.row_changed,
            self.workspace.selection.token_changed,
        ):
            signal.connect(lambda: self.workspace.deferred.add(view.refresh))
        qtbot.addWidget(view)
        view.resize(1000, 300)
        view.show()

    def run(self, run: ActivationRun) -> None:
        """Set the current run."""
        self.workspace.show_run(Ran(RecordedRun(run, cast(Any, None)), None))
        self.draw()

    def keep(self, run: ActivationRun) -> None:
        """Set the current run and the baseline."""
        self.run(run)
        self.workspace.runs.keep()
        self.draw()

    def draw(self) -> None:
        """Process all deferred calls."""
        self._qtbot.waitUntil(lambda: not self.workspace.deferred.pending)
