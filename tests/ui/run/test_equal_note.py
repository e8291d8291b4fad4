"""Why all layers have the same figures is said where random weights leave them no choice."""

from msgspec.structs import replace
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.run.equal_note import EqualNote


def test_it_is_said_of_random_weights_alone(qtbot: QtBot) -> None:
    around = QWidget()
    qtbot.addWidget(around)
    note = EqualNote(around)
    model = open_model(parse_source("bert-base-uncased"))
    run = run_sentence(model, Sentence("the cat sat"), random_weights=True)
    note.show_run(run, model.architecture)
    assert not note.isHidden()
    assert "ends in a LayerNorm" in note.text()
    assert "std 1 and norm √768 = 27.71" in note.text()
    trained = replace(run, source=replace(run.source, weights="pretrained"))
    note.show_run(trained, model.architecture)
    assert note.isHidden()
