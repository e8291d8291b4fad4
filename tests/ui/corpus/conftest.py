"""A small corpus of the demo model, and the controller of corpora in a plain window."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.making import CorpusRequest, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.progress import no_progress
from bertviewer.ui.corpus.controller import CorpusController
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import vbox

LINES = "The bank of the river was steep.\nA sentence.\n\nThe cat sat on the mat.\n"


@pytest.fixture(scope="session")
def corpus(
    opened_demo: LoadedModel, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Corpus]:
    """Return a corpus of three sentences, and its folder."""
    folder = tmp_path_factory.mktemp("corpus")
    data = folder / "lines.txt"
    data.write_text(LINES, encoding="utf-8")
    command = "bertviewer corpus demo lines.txt -o out"
    request = CorpusRequest((data,), CorpusOptions(), folder / "out", command)
    found = make_corpus(opened_demo, request, no_progress)
    assert found is not None
    return folder / "out", found


@pytest.fixture
def controller(
    open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot
) -> CorpusController:
    """Return the controller of a window in which the demo model is open."""
    open_model("demo")
    window = QWidget()
    vbox(parent=window)  # for the error bar
    qtbot.addWidget(window)
    window.resize(1360, 860)
    window.show()
    return CorpusController(workspace, window)


def window_of(controller: CorpusController) -> QWidget:
    window = controller.parent()
    assert isinstance(window, QWidget)
    return window
