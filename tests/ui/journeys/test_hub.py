"""Journeys with models of the Hugging Face Hub, which a local server plays."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QLineEdit, QProgressBar, QPushButton, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.ui.hub.bar import HubBar
from bertviewer.ui.hub.dialog import HubDialog
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.core.hub.hub_server import Fault, HubServer
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, has_error, is_drawn, last_run, show_tab, shown_error

REPO = "someone/tiny-bert"


@pytest.fixture
def server(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HubServer]:
    """Return the hub that ``hf://`` leads to, with the test's own cache."""
    server = HubServer()
    server.add_folder(REPO, tiny_bert_folder)
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    yield server
    server.stop()


def settle(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    jobs = window.workspace.jobs
    qtbot.waitUntil(lambda: not jobs.activity and not worker.busy, timeout=OPEN_TIMEOUT)


@pytest.fixture
def opened(window: MainWindow, worker: Worker, server: HubServer, qtbot: QtBot) -> MainWindow:
    """Return the window with the hub's model, whose weights are not downloaded."""
    window.open_named(f"hf://{REPO}")
    settle(window, worker, qtbot)
    return window


def open_dialog(window: MainWindow, qtbot: QtBot) -> HubDialog:
    qtbot.waitUntil(lambda: not window.findChildren(HubDialog))  # the one before is deleted
    find(window, QAction, "openHub").trigger()
    return find(window, HubDialog)


def test_a_typed_name_opens_the_structure_and_a_run_downloads_the_weights(
    window: MainWindow, worker: Worker, server: HubServer, qtbot: QtBot
) -> None:
    dialog = open_dialog(window, qtbot)
    edit = find(dialog, QLineEdit, "hubName")
    qtbot.keyClicks(edit, "someone/else")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    unknown = f"hf://someone/else@main: not found on {server.url[7:]}"
    assert shown_error(window).text() == unknown
    dialog = open_dialog(window, qtbot)
    edit = find(dialog, QLineEdit, "hubName")
    assert "someone/else" in edit.text()  # it may be mistyped
    edit.clear()
    qtbot.keyClicks(edit, REPO)
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    settle(window, worker, qtbot)
    architecture = window.workspace.architecture
    assert architecture is not None
    assert architecture.source.kind == "hub"
    assert (architecture.source.weights, architecture.source.random_tensors) == ("pretrained", ())
    assert window.windowTitle().startswith(f"hf://{REPO}@")
    # Only the header of the weights was read.
    assert all("range" in request.headers for request in server.asked("model.safetensors"))
    bar = find(window, HubBar)
    assert bar.isVisible()
    window.set_sentence("the cat sat", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    assert last_run(window).source.weights == "pretrained"
    assert not bar.isVisible()
    settle(window, worker, qtbot)
    dialog = open_dialog(window, qtbot)
    assert find(dialog, QLineEdit, "hubName").text() == ""
    dialog.reject()


def test_a_download_is_cancelled_and_resumed_and_the_tensors_follow(
    opened: MainWindow, worker: Worker, server: HubServer, qtbot: QtBot
) -> None:
    window, bar = opened, find(opened, HubBar)
    show_tab(window, "Tensors")
    window.workspace.selection.select("pooler.dense")
    table = find(window, QTableView, "tensorTable")
    table.setCurrentIndex(table.model().index(0, 0))
    notices = window.findChildren(QLabel, "tensorNotice")
    notice = "The weights are not downloaded yet: 0.1 MB remaining"
    qtbot.waitUntil(lambda: notice in [each.text() for each in notices], timeout=OPEN_TIMEOUT)
    server.fail("model.safetensors", Fault(held=30_000))
    download, text = find(bar, QPushButton, "hubDownload"), find(bar, QLabel, "hubText")
    download.click()
    progress = find(bar, QProgressBar, "hubProgress")
    qtbot.waitUntil(lambda: progress.value() > 0 and "MB/s" in text.text(), timeout=OPEN_TIMEOUT)
    assert text.text().startswith("Downloading model.safetensors: ")
    cancel = [b for b in window.findChildren(QPushButton) if b.text() == "Cancel" and b.isVisible()]
    assert [button.objectName() for button in cancel] == ["cancelButton"]
    cancel[0].click()
    qtbot.waitUntil(lambda: not window.workspace.jobs.activity)
    assert bar.isVisible()
    assert download.isEnabled()
    server.requests.clear()
    with qtbot.waitSignal(window.workspace.weights_arrived, timeout=OPEN_TIMEOUT):
        download.click()
    [request] = server.requests  # continues where it was cancelled
    assert int(request.headers["range"].removeprefix("bytes=").rstrip("-")) > 0
    assert not bar.isVisible()
    title = find(window, QLabel, "tensorTitle")
    qtbot.waitUntil(lambda: "from model.safetensors" in title.text(), timeout=OPEN_TIMEOUT)
    settle(window, worker, qtbot)


def test_a_failed_download_leaves_the_model_open(
    opened: MainWindow, worker: Worker, server: HubServer, qtbot: QtBot
) -> None:
    server.fail("model.safetensors", *[Fault(404)] * 5)
    find(opened, QPushButton, "hubDownload").click()
    qtbot.waitUntil(lambda: has_error(opened), timeout=OPEN_TIMEOUT)
    assert "not found on" in shown_error(opened).text()
    shown_error(opened).close()
    assert opened.workspace.architecture is not None
    assert find(opened, HubBar).isVisible()
    settle(opened, worker, qtbot)


def test_a_downloaded_model_is_opened_offline_at_the_same_commit(  # noqa: PLR0917
    opened: MainWindow,
    worker: Worker,
    server: HubServer,
    qtbot: QtBot,
    tiny_bert_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    title, workspace = opened.windowTitle(), opened.workspace
    server.add(REPO, {"config.json": (tiny_bert_folder / "config.json").read_bytes()})
    workspace.open_head("sequence-classification")
    settle(opened, worker, qtbot)
    assert workspace.architecture is not None
    assert workspace.architecture.source.task == "sequence-classification"
    assert opened.windowTitle() == title
    with qtbot.waitSignal(workspace.weights_arrived, timeout=OPEN_TIMEOUT):
        find(opened, QPushButton, "hubDownload").click()
    settle(opened, worker, qtbot)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nothing answers there
    dialog = open_dialog(opened, qtbot)
    table = find(dialog, QTableView, "hubModels")
    qtbot.waitUntil(lambda: table.model().rowCount() == 1, timeout=OPEN_TIMEOUT)
    before = workspace.architecture
    table.selectRow(0)
    find(dialog, QPushButton, "hubOpen").click()
    qtbot.waitUntil(lambda: workspace.architecture is not before, timeout=OPEN_TIMEOUT)
    settle(opened, worker, qtbot)
    assert opened.windowTitle() == title
