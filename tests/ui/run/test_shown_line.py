"""What is shown says what it is of, and when that is no longer what is typed or chosen."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QPushButton, QTabWidget, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.device import Device
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.run.run_panel import RunPanel
from bertviewer.ui.run.shown_run_line import ShownRunLine
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import ElidedLabel
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, last_run
from tests.ui.run.layers_window import TEXT

Settle = Callable[[], None]


def said(window: MainWindow) -> tuple[str, str]:
    """Return what is said of a change, "" if nothing is, and what the results are of."""
    line = find(window, ShownRunLine)
    stale = find(line, QLabel, "staleResults")
    button = find(line, QToolButton, "runAgainButton")
    assert stale.isVisible() == button.isVisible() == bool(stale.text())
    return stale.text(), find(line, QLabel, "shownSentence").text()


def test_it_names_sentence_model_and_weights(ran: MainWindow) -> None:
    assert said(ran) == ("", f"“{TEXT}” · demo · trained weights")


def test_another_text_makes_it_stale_until_it_is_typed_again(ran: MainWindow) -> None:
    edit = find(ran, QLineEdit, "sentenceEdit")
    edit.setText(f"{TEXT}!")
    stale, shown = said(ran)
    assert stale == "Results are for an earlier sentence:"
    assert shown.startswith(f"“{TEXT}”")
    edit.setText(TEXT)
    assert said(ran)[0] == ""
    find(ran, QLineEdit, "pairEdit").setText("and another")
    assert said(ran)[0] == "Results are for an earlier sentence:"


def test_run_again_runs_what_is_typed(ran: MainWindow, settle: Settle, qtbot: QtBot) -> None:
    before = last_run(ran)
    ran.set_sentence("another one", None)
    button = find(ran, QToolButton, "runAgainButton")
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: ran.workspace.runs.run is not before, timeout=OPEN_TIMEOUT)
    settle()
    assert last_run(ran).sentence.text == "another one"
    assert said(ran)[0] == ""


def test_a_cleared_field_is_no_other_sentence(ran: MainWindow) -> None:
    find(ran, QLineEdit, "sentenceEdit").clear()
    assert said(ran)[0] == "Results are for a cleared sentence:"
    button = find(ran, QToolButton, "runAgainButton")
    assert not button.isEnabled()
    assert button.toolTip() == "Type a sentence first."


def test_another_device_makes_it_stale(ran: MainWindow) -> None:
    workspace = ran.workspace
    workspace.devices = (*workspace.devices, Device("cuda:0", "A GPU"))
    ran.set_device("cuda:0")
    assert said(ran)[0] == "Computed on cpu, cuda:0 is now selected:"
    ran.set_device("cpu")
    assert said(ran)[0] == ""


def test_random_weights_that_are_not_chosen_any_more(
    window: MainWindow, settle: Settle, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    workspace = window.workspace
    window.open_source(parse_source(str(tiny_bert_folder / "config.json")))
    qtbot.waitUntil(lambda: workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    box = find(window, QCheckBox, "randomWeightsCheck")
    assert box.isVisible()
    choices = find(window, QPushButton, "runChoices")
    assert choices.isEnabled()
    assert not choices.isDefault()  # no half of a button in the accent
    box.setChecked(True)
    window.set_sentence("the cat sat", None)
    window.run()
    qtbot.waitUntil(lambda: workspace.runs.run is not None, timeout=OPEN_TIMEOUT)
    settle()
    assert said(window)[1].endswith("random weights")
    warning = find(window, QLabel, "runWarning")
    assert "Random weights" in warning.text()
    # It comes first: the sentence can be read in its field.
    window.resize(1440, 900)
    qtbot.waitUntil(
        lambda: isinstance(warning, ElidedLabel) and warning.shown_text == warning.text()
    )
    window.resize(900, 700)
    workspace.runs.keep()
    settle()
    # Its first words stay whole however short the room is.
    words = warning.fontMetrics().horizontalAdvance("Random weights…")
    qtbot.waitUntil(lambda: warning.width() >= words)
    # Of a path the end is enough.
    assert str(tiny_bert_folder) not in said(window)[1]
    assert choices.isDefault()
    # The box is ticked as long as results of random weights are shown, and says so if it is not.
    assert box.isChecked()
    box.setChecked(False)
    assert said(window)[0].startswith("Results are for random weights")
    box.setChecked(True)
    assert said(window)[0] == ""


def test_sentences_of_strangers_are_one_line_of_plain_text(ran: MainWindow) -> None:
    watched = ran.workspace.runs.current
    assert watched is not None
    text = "<b>שלום</b>\n" + "x" * 10_000
    sentence = replace(watched.run.sentence, text=text)
    ran.workspace.runs.set_run(
        RecordedRun(replace(watched.run, sentence=sentence), watched.capture)
    )
    ran.workspace.runs.run_changed.emit()
    label = find(ran, QLabel, "shownSentence")
    assert label.textFormat() == Qt.TextFormat.PlainText
    assert "\n" not in label.text()
    assert "&lt;b&gt;" in label.toolTip()
    assert label.width() < ran.width()
    assert len(label.toolTip()) < 2000


def test_all_results_are_marked_as_long_as_they_are_stale(ran: MainWindow, settle: Settle) -> None:
    panel, views = find(ran, RunPanel), find(ran, QTabWidget, "runViews")

    def edge() -> set[str]:
        """Return the colours at the edge of tokens and views."""
        image = panel.grab().toImage()
        return {image.pixelColor(1, y).name() for y in (8, panel.height() // 2)}

    warning = ran.palette().color(WARNING).name()
    assert edge() != {warning}
    ran.set_sentence("another one", None)
    settle()
    assert edge() == {warning}
    assert views.accessibleDescription() == "Results are for an earlier sentence"
    # What they are of can be read, however narrow the window is.
    ran.resize(1024, 700)
    settle()
    label, line = find(ran, QLabel, "staleResults"), find(ran, ShownRunLine)
    assert label.width() >= label.sizeHint().width()
    assert line.width() >= line.min_width
    ran.set_sentence(TEXT, None)
    settle()
    assert edge() != {warning}
    assert views.accessibleDescription() == ""


def test_a_saved_run_brings_its_sentence(ran: MainWindow, settle: Settle) -> None:
    workspace, run = ran.workspace, last_run(ran)
    ran.set_sentence("what was typed for another model", None)
    assert said(ran)[0] == "Results are for an earlier sentence:"
    workspace.show_run(Ran(RecordedRun(run, None), None))
    settle()
    assert find(ran, QLineEdit, "sentenceEdit").text() == run.sentence.text
    assert said(ran)[0] == ""


def test_random_tensors_are_not_called_trained(ran: MainWindow) -> None:
    run = last_run(ran)
    for lacking, words in (
        (("cls.predictions.bias", "x"), "2 tensors random, the others trained"),
        (("classifier.weight",), "1 tensor random, the others trained"),
    ):
        source = replace(run.source, task="masked-lm", random_tensors=lacking)
        ran.workspace.show_run(Ran(RecordedRun(replace(run, source=source), None), None))
        shown = said(ran)[1]
        assert shown.endswith(f" · masked-lm · {words}")
        assert "trained weights" not in shown
