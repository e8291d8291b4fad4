"""Contradictions between the state of the workspace and what the window shows."""

from collections.abc import Iterator

from PySide6.QtWidgets import QLabel, QListView, QToolButton, QWidget

from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.view import ModuleTreeView
from tests.ui.finding import find


def contradictions(window: MainWindow) -> Iterator[str]:
    """Yield a description of each."""
    workspace = window.workspace
    architecture, row, run = workspace.architecture, workspace.selection.row, workspace.runs.run
    if architecture is None or row is None:
        return
    for tree in window.findChildren(ModuleTreeView):
        model, index = tree.model(), tree.currentIndex()
        shown = model.tree_row(index) if isinstance(model, ModuleTreeModel) else None
        if shown is not None and shown.key != row.key and not tree.isHidden():
            yield f"the tree shows {shown.key!r}, selected is {row.key!r}"
    for inspector in window.findChildren(QWidget, "inspector"):
        texts = {label.text() for label in inspector.findChildren(QLabel)}
        if inspector.isVisible() and texts and (row.key or "the whole model") not in texts:
            yield f"the inspector shows another module than {row.key!r}"
    crumbs = [
        b for b in window.findChildren(QToolButton) if b.accessibleName() == f"Select {row.key}"
    ]
    if row.key and find(window, QWidget, "breadcrumb").isVisible() and not crumbs:
        yield f"the path does not end with {row.key!r}"
    for chips in window.findChildren(QListView, "tokenChips"):
        tokens = 0 if run is None else len(run.tokens)
        if chips.isVisible() and chips.model().rowCount() != tokens:
            yield f"{chips.model().rowCount()} chips of a run of {tokens} tokens"
        chip, token = chips.currentIndex().row(), workspace.selection.token
        if chips.isVisible() and run is not None and chip != (token or 0):
            yield f"chip {chip} is marked, and token {token} is selected"
    source = architecture.source
    is_random = source.weights == "random" or bool(source.random_tensors)
    mark = find(window, QLabel, "statusWeights")
    if ("andom" in mark.text()) != is_random:
        yield f"{mark.text()!r} is shown, weights are {source.weights}"
    if window.isVisible() and source.name not in window.windowTitle():
        yield f"the title is {window.windowTitle()!r}, the model {source.name!r}"
