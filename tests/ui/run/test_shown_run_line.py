"""Line that describes the shown run: sentence, weights, warnings, and whether it is stale."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.device import Device
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.ui.run.shown_run_line import ShownRunLine
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import ElidedLabel
from tests.ui.run.view_harness import PanelHarness, RunHarness

TEXT = "the cat sat on the mat"
EARLIER = "Results are for an earlier sentence:"


@pytest.fixture
def line(open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot) -> RunHarness:
    """Return the line after a run of ``TEXT`` through the demo model."""
    open_model("demo")
    line = RunHarness(ShownRunLine(workspace), workspace, qtbot)
    line.run(TEXT)
    return line


def stale(line: RunHarness) -> str:
    """Return why the run is stale; there is a button to run again then."""
    text = line.text("staleResults")
    assert line.is_visible("runAgainButton") == bool(text)
    return text


def last_run(line: RunHarness) -> ActivationRun:
    run = line.workspace.runs.run
    assert run is not None
    return run


def type_sentence(line: RunHarness, text: str, pair: str | None = None) -> None:
    line.workspace.run_input.set_sentence(Sentence(text, pair))


def test_another_sentence_makes_the_run_stale(line: RunHarness) -> None:
    assert (stale(line), line.text("shownSentence")) == ("", f"“{TEXT}” · demo · trained weights")
    type_sentence(line, f"{TEXT}!")
    assert stale(line) == EARLIER
    assert line.text("shownSentence").startswith(f"“{TEXT}”")
    type_sentence(line, TEXT)
    assert stale(line) == ""
    type_sentence(line, TEXT, "and another")
    assert stale(line) == EARLIER
    line.click("runAgainButton")
    assert last_run(line).sentence == Sentence(TEXT, "and another")
    assert stale(line) == ""
    type_sentence(line, "")
    assert stale(line) == "Results are for a cleared sentence:"
    button = line.find(QToolButton, "runAgainButton")
    assert not button.isEnabled()
    assert button.toolTip() == "Type a sentence first."


def test_another_device_makes_the_run_stale(line: RunHarness) -> None:
    workspace = line.workspace
    workspace.devices = Device("cpu", "CPU"), Device("cuda:0", "A GPU")
    workspace.set_device("cuda:0")
    assert stale(line) == "Computed on cpu, cuda:0 is now selected:"
    workspace.set_device("cpu")
    assert stale(line) == ""


def test_a_run_from_a_file_brings_its_sentence(line: RunHarness) -> None:
    run = last_run(line)
    type_sentence(line, "typed for another model")
    line.show_run(RecordedRun(run, None))
    assert line.workspace.run_input.sentence == run.sentence
    assert stale(line) == ""


def test_random_weights_are_named_and_stale_once_deselected(
    line: RunHarness, open_model: Callable[..., object], tiny_bert_folder: Path
) -> None:
    open_model(tiny_bert_folder / "config.json")
    line.run("the cat sat")
    assert line.text("shownSentence").endswith("random weights")
    assert str(tiny_bert_folder) not in line.text("shownSentence")
    assert "Random weights" in line.text("runWarning")
    line.workspace.run_input.set_random_weights(False)
    assert stale(line).startswith("Results are for random weights")
    line.workspace.run_input.set_random_weights(True)
    assert stale(line) == ""


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        (("cls.predictions.bias", "x"), "2 tensors random, the others trained"),
        (("classifier.weight",), "1 tensor random, the others trained"),
    ],
)
def test_random_tensors_are_counted(line: RunHarness, tensors: tuple[str, ...], words: str) -> None:
    run = last_run(line)
    source = replace(run.source, task="masked-lm", random_tensors=tensors)
    line.show_run(replace(run, source=source))
    shown = line.text("shownSentence")
    assert shown.endswith(f" · masked-lm · {words}")
    assert "trained weights" not in shown


def test_any_sentence_is_one_line_of_plain_text(line: RunHarness) -> None:
    run, width = last_run(line), line.widget.width()
    line.show_run(replace(run, sentence=Sentence("<b>שלום</b>\n" + "x" * 10_000)))
    label = line.find(QLabel, "shownSentence")
    assert label.textFormat() == Qt.TextFormat.PlainText
    assert "\n" not in label.text()
    assert "&lt;b&gt;" in label.toolTip()
    assert len(label.toolTip()) < 2000
    assert line.widget.width() == width


def test_the_warning_is_read_before_the_sentence(
    line: RunHarness, open_model: Callable[..., object], tiny_bert_folder: Path
) -> None:
    open_model(tiny_bert_folder / "config.json")
    line.resize(1300, 30)
    line.run("the cat sat")
    warning = line.find(ElidedLabel, "runWarning")
    assert warning.shown_text == warning.text()
    line.keep()
    line.resize(600, 30)
    # Its first words stay however narrow the line is.
    assert warning.width() >= warning.fontMetrics().horizontalAdvance("Random weights…")


def test_the_whole_panel_is_marked_while_the_run_is_stale(panel: PanelHarness) -> None:
    panel.run(TEXT)
    widget = panel.widget

    def edge() -> set[str]:
        """Return the colours at the left edge."""
        image = widget.grab().toImage()
        return {image.pixelColor(1, y).name() for y in (8, widget.height() // 2)}

    warning = widget.palette().color(WARNING).name()
    assert warning not in edge()
    type_sentence(panel, "another one")
    panel.settle()
    assert edge() == {warning}
    assert panel.views.accessibleDescription() == EARLIER.rstrip(":")
    for width in (1360, 900):
        panel.resize(width, 500)
        label, line = panel.find(QLabel, "staleResults"), panel.find(ShownRunLine)
        assert label.width() >= label.sizeHint().width()
        assert line.width() >= line.min_width
    type_sentence(panel, TEXT)
    panel.settle()
    assert warning not in edge()
    assert panel.views.accessibleDescription() == ""


def test_the_line_is_next_to_the_tabs_if_it_fits_there(panel: PanelHarness) -> None:
    panel.run(TEXT)
    panel.keep()
    panel.run("the cat sat on the old mat")
    line = panel.find(ShownRunLine)
    for width, is_next_to_tabs in ((1360, True), (500, False)):
        panel.resize(width, 500)
        top = panel.views.mapTo(panel.widget, panel.views.rect().topLeft()).y()
        assert (line.mapTo(panel.widget, line.rect().topLeft()).y() >= top) == is_next_to_tabs
        assert panel.is_visible("difference")
