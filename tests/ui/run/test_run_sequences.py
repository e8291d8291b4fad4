"""Sentence bar and run panel: what they show is consistent, whatever is opened and run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.run.run_area import RunArea
from bertviewer.ui.state.workspace import Workspace
from tests.tools.patient_bot import PATIENCE
from tests.ui.run.view_harness import RunHarness


class AreaHarness(RunHarness):
    """The bottom of the window; each step checks that all parts agree."""

    widget: RunArea

    @property
    def random(self) -> QCheckBox:
        return self.find(QCheckBox, "randomWeightsCheck")

    def type_sentence(self, text: str) -> None:
        self.find(QLineEdit, "sentenceEdit").setText(text)
        self.settle()
        self.check()

    def click_run(self, text: str) -> None:
        self.type_sentence(text)
        self.click("runButton")
        run = self.workspace.runs.run
        assert run is not None
        assert run.sentence.text == text
        self.check()

    def check(self) -> None:
        workspace, run = self.workspace, self.workspace.runs.run
        architecture = workspace.architecture
        assert architecture is not None
        assert self.random.isChecked() == workspace.run_input.random_weights
        assert self.widget.is_open == (run is not None)
        if run is None:
            assert workspace.runs.baseline is None
            return
        assert run.source.task == architecture.source.task
        assert architecture.source.weights in (run.source.weights, "none")
        is_random = run.source.weights == "random"
        is_same_text = workspace.run_input.sentence.text == run.sentence.text
        is_stale = not is_same_text or (is_random and not self.random.isChecked())
        assert bool(self.find(QLabel, "staleResults").text()) == is_stale
        assert ("Random weights" in self.find(QLabel, "runWarning").text()) == is_random
        can_run = self.is_enabled("runButton")
        assert can_run == (not workspace.run_input.disabled_reason)


@pytest.fixture
def area(workspace: Workspace, qtbot: QtBot) -> Iterator[AreaHarness]:
    area = RunArea(workspace)
    area.resize(1200, 500)
    yield AreaHarness(area, workspace, qtbot)
    assert area.bar.stop(PATIENCE / 1000)


def test_other_heads_models_and_saved_runs(
    area: AreaHarness,
    open_model: Callable[..., object],
    tiny_bert_folder: Path,
    tmp_path: Path,
) -> None:
    workspace = area.workspace
    open_model(tiny_bert_folder / "config.json")
    assert not area.is_enabled("runButton")
    area.random.setChecked(True)
    area.click_run("the cat sat")
    # Another head of the same model, which is random as well.
    workspace.open_head("masked-lm")
    area.settle()
    area.check()
    assert workspace.runs.run is None
    assert area.random.isChecked()
    area.click_run("the cat sat")
    area.random.setChecked(False)
    area.settle()
    area.check()
    assert not area.is_enabled("runButton")
    # Its run in a file, opened from another model.
    file = tmp_path / "kept.bertviewer"
    workspace.save_runs(file)
    area.settle()
    open_model("demo")
    area.check()
    area.click_run("typed for the demo")
    workspace.runs.keep()
    area.check()
    workspace.open(parse_source(str(file)))
    area.settle()
    area.check()
    assert workspace.runs.baseline is None
    assert workspace.run_input.sentence.text == "the cat sat"
    area.type_sentence("a dog")
    area.click_run("a dog")
