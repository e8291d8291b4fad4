"""Opening a model of the hub in the window, and having its weights downloaded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QTableView,
)
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
    """Return the hub that ``hf://`` leads to, with a cache of the test's own."""
    server = HubServer()
    server.add_folder(REPO, tiny_bert_folder)
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    yield server
    server.stop()


def wait(qtbot: QtBot, worker: Worker) -> None:
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def open_model(
    window: MainWindow, worker: Worker, qtbot: QtBot, name: str = f"hf://{REPO}"
) -> None:
    window.open_named(name)
    qtbot.waitUntil(lambda: window.workspace.jobs.activity == "", timeout=OPEN_TIMEOUT)
    wait(qtbot, worker)


def dialog_of(window: MainWindow, qtbot: QtBot) -> HubDialog:
    window.opening.choose_hub()
    dialog = find(window, HubDialog)
    heading = "Downloaded models"
    qtbot.waitUntil(
        lambda: any(heading in label.text() or "No downloaded" in label.text()
                    for label in dialog.findChildren(QLabel)),
        timeout=OPEN_TIMEOUT,
    )  # fmt: skip
    return dialog


def texts(dialog: HubDialog) -> list[list[str]]:
    model = find(dialog, QTableView, "hubModels").model()
    return [
        [str(model.index(row, column).data()) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def test_the_architecture_is_there_before_the_weights(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    open_model(window, worker, qtbot)
    architecture = window.workspace.architecture
    assert architecture is not None
    assert architecture.source.kind == "hub"
    assert architecture.source.weights == "pretrained"
    assert architecture.source.random_tensors == ()
    assert window.windowTitle().startswith(f"hf://{REPO}@")
    bar = find(window, HubBar)
    assert bar.isVisible()
    assert (
        find(bar, QLabel, "hubText")
        .text()
        .endswith("are not downloaded yet. The first run downloads them.")
    )
    # The header was read, and not the file.
    assert all("range" in request.headers for request in server.asked("model.safetensors"))


def is_offered(button: QPushButton, text: str) -> bool:
    return button.isVisible() and button.text() == text


def test_the_button_downloads_the_weights(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    open_model(window, worker, qtbot)
    bar = find(window, HubBar)
    server.fail("model.safetensors", Fault(held=30_000))
    with qtbot.waitSignal(window.workspace.weights_arrived, timeout=OPEN_TIMEOUT):
        find(bar, QPushButton, "hubDownload").click()
        said = find(bar, QLabel, "hubText")
        qtbot.waitUntil(lambda: "MB/s" in said.text(), timeout=OPEN_TIMEOUT)
        assert said.text().startswith("Downloading model.safetensors: ")
        progress = find(bar, QProgressBar, "hubProgress")
        assert progress.isVisible()
        assert progress.maximum() > 0
        assert not find(bar, QPushButton, "hubDownload").isEnabled()
        # One way to stop it, where it always is.
        [cancel] = [b for b in window.findChildren(QPushButton) if is_offered(b, "Cancel")]
        assert cancel.objectName() == "cancelButton"
        server.goes_on.set()
    assert not bar.isVisible()
    wait(qtbot, worker)


def test_cancel_keeps_what_came_and_the_model(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    open_model(window, worker, qtbot)
    bar = find(window, HubBar)
    server.fail("model.safetensors", Fault(held=30_000))
    find(bar, QPushButton, "hubDownload").click()
    qtbot.waitUntil(
        lambda: find(bar, QProgressBar, "hubProgress").value() > 0, timeout=OPEN_TIMEOUT
    )
    find(window, QPushButton, "cancelButton").click()
    # The rest has not come, and nobody waits for it.
    qtbot.waitUntil(lambda: not window.workspace.jobs.activity)
    assert bar.isVisible()
    assert find(bar, QPushButton, "hubDownload").isEnabled()
    assert window.workspace.architecture is not None
    server.requests.clear()
    with qtbot.waitSignal(window.workspace.weights_arrived, timeout=OPEN_TIMEOUT):
        find(bar, QPushButton, "hubDownload").click()
    [asked] = server.requests
    assert int(asked.headers["range"].removeprefix("bytes=").rstrip("-")) > 0
    wait(qtbot, worker)


def test_a_run_downloads_the_weights_first(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    open_model(window, worker, qtbot)
    window.set_sentence("the cat sat", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    assert last_run(window).source.weights == "pretrained"
    assert not find(window, HubBar).isVisible()
    wait(qtbot, worker)


def test_a_failed_download_leaves_the_model_open(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    open_model(window, worker, qtbot)
    server.fail("model.safetensors", *[Fault(404)] * 5)
    find(window, QPushButton, "hubDownload").click()
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    box = shown_error(window)
    assert "not found on" in box.text()
    assert find(box, QLabel, "errorText").textFormat() == Qt.TextFormat.PlainText
    box.close()
    assert window.workspace.architecture is not None
    assert find(window, HubBar).isVisible()
    wait(qtbot, worker)


def test_a_model_that_is_not_there_leaves_the_open_one(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    open_model(window, worker, qtbot)
    before = window.workspace.architecture
    window.open_named("hf://someone/else")
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    box = shown_error(window)
    assert box.text() == f"hf://someone/else@main: not found on {server.url[7:]}"
    box.close()
    assert window.workspace.architecture is before
    wait(qtbot, worker)


def test_a_name_that_could_not_be_opened_is_not_typed_again(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    dialog = dialog_of(window, qtbot)
    find(dialog, QLineEdit, "hubName").setText("someone/else")
    dialog.accept()
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not window.findChildren(HubDialog))
    again = dialog_of(window, qtbot)
    name = find(again, QLineEdit, "hubName")
    assert "someone/else" in name.text()
    name.setText(REPO)
    again.accept()
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    wait(qtbot, worker)
    qtbot.waitUntil(lambda: not window.findChildren(HubDialog))
    last = dialog_of(window, qtbot)
    assert find(last, QLineEdit, "hubName").text() == ""
    last.reject()


def test_the_dialog_opens_what_is_typed(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    dialog = dialog_of(window, qtbot)
    assert texts(dialog) == []
    # Without a list the words above it do not spread over its room.
    told = [find(dialog, QLabel, "hubMessage"), find(dialog, QLineEdit, "hubName")]
    assert sum(one.height() for one in told) < dialog.height() / 3
    assert not server.requests  # nothing is sent before anything is asked for
    button = find(dialog, QPushButton, "hubOpen")
    assert not button.isEnabled()
    edit = find(dialog, QLineEdit, "hubName")
    qtbot.keyClicks(edit, "someone/<b>x</b>")
    button.click()
    message = find(dialog, QLabel, "hubMessage")
    assert "a Hub model is written as hf://org/name[@revision]" in message.text()
    assert message.textFormat() == Qt.TextFormat.PlainText
    edit.clear()
    qtbot.keyClicks(edit, REPO)
    assert "named" not in message.text()
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    assert window.windowTitle().startswith(f"hf://{REPO}@")
    wait(qtbot, worker)


def test_the_dialog_lists_what_is_on_this_disk_and_opens_it_offline(
    window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    server: HubServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    open_model(window, worker, qtbot)
    name = window.windowTitle().partition(" ")[0]
    dialog = dialog_of(window, qtbot)
    [[repo, revision, weights, size, date]] = texts(dialog)
    assert (repo, revision) == (REPO, f"main ({name.partition('@')[2][:12]})")
    assert (weights, size) == ("not yet", "0.0 MB")
    assert date.startswith("20")
    dialog.reject()
    with qtbot.waitSignal(window.workspace.weights_arrived, timeout=OPEN_TIMEOUT):
        find(window, QPushButton, "hubDownload").click()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody is there
    qtbot.waitUntil(lambda: not window.findChildren(HubDialog), timeout=OPEN_TIMEOUT)
    dialog = dialog_of(window, qtbot)
    assert texts(dialog)[0][2:4] == ["yes", "0.1 MB"]
    before = window.workspace.architecture
    table = find(dialog, QTableView, "hubModels")
    table.selectRow(0)
    assert find(dialog, QLineEdit, "hubName").text() == name.removeprefix("hf://")
    table.doubleClicked.emit(table.model().index(0, 0))
    qtbot.waitUntil(
        lambda: window.workspace.architecture is not before and not window.workspace.jobs.activity,
        timeout=OPEN_TIMEOUT,
    )
    assert window.windowTitle().startswith(name)
    wait(qtbot, worker)


def test_another_head_is_of_the_same_commit(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer, tiny_bert_folder: Path
) -> None:
    open_model(window, worker, qtbot)
    title = window.windowTitle()
    server.add(REPO, {"config.json": (tiny_bert_folder / "config.json").read_bytes()})
    window.workspace.open_head("sequence-classification")
    qtbot.waitUntil(lambda: window.workspace.jobs.activity == "", timeout=OPEN_TIMEOUT)
    architecture = window.workspace.architecture
    assert architecture is not None
    assert architecture.source.task == "sequence-classification"
    assert window.windowTitle() == title
    wait(qtbot, worker)


def test_a_tensor_is_there_as_soon_as_the_weights_are(
    window: MainWindow, worker: Worker, qtbot: QtBot, server: HubServer
) -> None:
    open_model(window, worker, qtbot)
    show_tab(window, "Tensors")
    window.workspace.selection.select("pooler.dense")
    table = find(window, QTableView, "tensorTable")
    table.setCurrentIndex(table.model().index(0, 0))
    notices = window.findChildren(QLabel, "tensorNotice")
    said = "The weights are not downloaded yet: 0.1 MB remaining"
    qtbot.waitUntil(lambda: said in [notice.text() for notice in notices], timeout=OPEN_TIMEOUT)
    # Looking at a tensor takes no weights from the hub; the person does.
    assert all("range" in request.headers for request in server.asked("model.safetensors"))
    with qtbot.waitSignal(window.workspace.weights_arrived, timeout=OPEN_TIMEOUT):
        find(window, QPushButton, "hubDownload").click()
    title = find(window, QLabel, "tensorTitle")
    qtbot.waitUntil(lambda: "from model.safetensors" in title.text(), timeout=OPEN_TIMEOUT)
    wait(qtbot, worker)
