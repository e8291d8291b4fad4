"""The tab of tensors of a small model, or of the demo model after a run."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.ui.state.workspace import Workspace
from tests.ui.tensors.tensor_harness import TensorHarness

LAYER = "encoder.layer.2"


@pytest.fixture
def tiny(
    open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot, tiny_bert_folder: Path
) -> TensorHarness:
    """Return the tab of the tiny BERT."""
    open_model(tiny_bert_folder)
    return TensorHarness(workspace, qtbot)


@pytest.fixture
def recorded(
    open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot
) -> TensorHarness:
    """Return the tab with the output of a layer of the demo model."""
    open_model("demo")
    tab = TensorHarness(workspace, qtbot)
    tab.select(LAYER)
    tab.run("the bank by the river")
    tab.inspect("output", "Output")
    return tab
