"""A run that is not what would be run now is marked on the map and in the inspector."""

from typing import Any, cast

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot
from typing_extensions import override

from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.state.run_input import RunInput
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.views.staleness import StaleLabel, why_stale
from tests.charts.runs import made_up

TEXT = "The bank by the river was closed."
RUN = replace(made_up("a test"), sentence=Sentence(TEXT))
TRAINED = replace(RUN, source=replace(RUN.source, weights="pretrained"))


@pytest.mark.parametrize(
    ("run", "typed", "random_weights", "device", "reason"),
    [
        (TRAINED, TEXT, False, "cpu", ""),
        (TRAINED, f"{TEXT}!", False, "cpu", "Results are for an earlier sentence"),
        (TRAINED, " ", False, "cpu", "Results are for a cleared sentence"),
        (RUN, TEXT, True, "cpu", ""),
        (RUN, TEXT, False, "cpu", "Results are for random weights, now deselected"),
        (TRAINED, TEXT, False, "cuda:0", "Computed on cpu, cuda:0 is now selected"),
    ],
)
@pytest.mark.usefixtures("qapp")
def test_why_a_run_is_stale(
    run: ActivationRun, typed: str, random_weights: bool, device: str, reason: str
) -> None:
    run_input = RunInput()
    run_input.set_sentence(Sentence(typed))
    run_input.set_random_weights(random_weights)
    assert why_stale(run, run_input, device) == reason


class Marked(QWidget):
    """A widget with a label, and a stripe at its left edge while the run is stale."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.label = StaleLabel("stale", workspace, self)
        QVBoxLayout(self).addWidget(self.label)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.label.mark(painter)
        painter.end()

    def is_marked(self) -> bool:
        picture = QPixmap(self.size())
        picture.fill(QColor("white"))
        self.render(picture)
        color = picture.toImage().pixelColor(1, self.height() // 2)
        is_striped = color == self.palette().color(WARNING)
        assert is_striped == bool(self.label.text()) == bool(self.accessibleDescription())
        assert self.label.isVisible() == is_striped
        return is_striped


def test_a_widget_is_marked_while_the_run_is_stale(workspace: Workspace, qtbot: QtBot) -> None:
    widget = Marked(workspace)
    qtbot.addWidget(widget)
    widget.resize(200, 100)
    widget.show()
    marked = []
    workspace.run_input.set_sentence(Sentence("something"))
    marked.append(widget.is_marked())
    workspace.run_input.set_sentence(Sentence(TEXT))
    workspace.show_run(Ran(RecordedRun(TRAINED, cast(Any, "a cache")), None))
    marked.append(widget.is_marked())
    for text in (f"{TEXT}!", TEXT, "another"):
        workspace.run_input.set_sentence(Sentence(text))
        marked.append(widget.is_marked())
    another = replace(TRAINED, sentence=Sentence("another"))
    workspace.show_run(Ran(RecordedRun(another, cast(Any, "a cache")), None))
    marked.append(widget.is_marked())
    workspace.set_device("cuda:0")
    assert marked == [False, False, True, False, True, False]
