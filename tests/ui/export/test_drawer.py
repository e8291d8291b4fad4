"""Pictures are drawn in the GUI thread for a worker that waits."""

from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import PAPER
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.progress import Progress
from bertviewer.report import drawing
from bertviewer.report.pictures import Picture
from bertviewer.ui.export.drawer import Drawer
from bertviewer.ui.jobs.worker import Worker


@pytest.fixture
def pictures(opened_tiny: LoadedModel) -> dict[str, Picture]:
    flows = opened_tiny.architecture.flows
    assert flows is not None
    found = {path: flows.flow(path) for path in ("", "pooler")}
    return {path: Picture(flow) for path, flow in found.items() if flow is not None}


def test_drawings_errors_and_cancellation(
    pictures: dict[str, Picture],
    opened_tiny: LoadedModel,
    worker: Worker,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawer, ends = Drawer(), list[Any]()

    def draw(progress: Progress) -> dict[str, str]:
        return dict(drawer.draw(pictures, opened_tiny.architecture, PAPER, progress))

    def start() -> None:
        ends.clear()
        worker.start(draw, ends.append, ends.append, lambda: ends.append("cancelled"))

    start()
    qtbot.waitUntil(lambda: bool(ends))
    assert ends[0].keys() == pictures.keys()
    assert all(svg.startswith("<svg") for svg in ends[0].values())

    def fail(*_: object) -> object:
        raise ValueError("no room")

    monkeypatch.setattr(drawing, "draw_pictures", fail)
    start()
    qtbot.waitUntil(lambda: bool(ends))
    assert isinstance(ends[0], ValueError)

    # A picture that is never drawn does not block the worker.
    monkeypatch.setattr(Drawer, "_draw", lambda _self, _task: worker.cancel())
    start()
    qtbot.waitUntil(lambda: bool(ends))
    assert ends == ["cancelled"]
