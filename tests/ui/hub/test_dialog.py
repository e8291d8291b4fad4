"""Dialog for Hugging Face models: the name, and the downloaded models."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.core.hub import cache
from bertviewer.core.hub.cache import CachedModel
from bertviewer.core.sources.model_source import parse_hub_name
from bertviewer.core.util.errors import UserError
from bertviewer.ui.hub.dialog import HubDialog
from tests.ui.finding import find

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "someone/tiny-bert"
MODELS = (
    CachedModel(parse_hub_name(f"{REPO}@{COMMIT}"), ("main",), 125_000, 1.7e9, has_weights=True),
    CachedModel(parse_hub_name(f"a/b@{COMMIT}"), (), 40_000_000, 1.6e9, has_weights=False),
)

Open = Callable[..., HubDialog]


@pytest.fixture
def open_dialog(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Return a function that opens the dialog, with these models in the cache."""

    def open_dialog(*models: CachedModel, name: str = "") -> HubDialog:
        monkeypatch.setattr(cache, "cached_models", lambda _: models)
        dialog = HubDialog(None, name)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
        qtbot.addWidget(dialog, before_close_func=HubDialog.reject)
        dialog.show()
        heading = "Looking for downloaded models…"
        qtbot.waitUntil(
            lambda: heading not in [label.text() for label in dialog.findChildren(QLabel)]
        )
        return dialog

    return open_dialog


def test_a_typed_name_is_chosen_and_a_wrong_one_explained(open_dialog: Open, qtbot: QtBot) -> None:
    dialog = open_dialog()
    chosen: list[str] = []
    dialog.chosen.connect(chosen.append)
    edit, button = find(dialog, QLineEdit, "hubName"), find(dialog, QPushButton, "hubOpen")
    message, table = find(dialog, QLabel, "hubMessage"), find(dialog, QTableView, "hubModels")
    assert not table.isVisible()
    # The texts do not spread over the room of the hidden table.
    assert message.height() + edit.height() < dialog.height() / 3
    assert not button.isEnabled()
    qtbot.keyClicks(edit, "someone/<b>x</b>")
    button.click()
    assert "a Hub model is written as hf://org/name[@revision]" in message.text()
    assert message.textFormat() == Qt.TextFormat.PlainText
    edit.clear()
    qtbot.keyClicks(edit, REPO)
    assert message.text().startswith("Opening a model downloads its configuration")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert chosen == [f"hf://{REPO}@main"]


def test_downloaded_models_are_listed_and_chosen(open_dialog: Open) -> None:
    dialog = open_dialog(*MODELS)
    table, edit = find(dialog, QTableView, "hubModels"), find(dialog, QLineEdit, "hubName")
    model = table.model()
    rows = [[model.index(row, column).data() for column in range(4)] for row in range(2)]
    assert rows == [
        [REPO, f"main ({COMMIT[:12]})", "yes", "0.1 MB"],
        ["a/b", COMMIT[:12], "not yet", "40.0 MB"],
    ]
    assert model.index(0, 4).data().startswith("2023-11-1")
    table.selectRow(0)
    assert edit.text() == f"{REPO}@{COMMIT}"
    assert find(dialog, QPushButton, "hubOpen").isEnabled()
    chosen: list[str] = []
    dialog.chosen.connect(chosen.append)
    table.doubleClicked.emit(model.index(0, 0))
    assert chosen == [f"hf://{REPO}@{COMMIT}"]


def test_an_initial_name_can_be_opened_at_once(open_dialog: Open) -> None:
    dialog = open_dialog(name=REPO)
    assert find(dialog, QLineEdit, "hubName").text() == REPO
    assert find(dialog, QPushButton, "hubOpen").isEnabled()


@pytest.mark.parametrize("error", [UserError("the cache is <b>gone</b>"), RuntimeError("broken")])
def test_errors_of_the_cache(
    error: Exception, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(cache, "cached_models", fail)
    dialog = HubDialog()
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(dialog, before_close_func=HubDialog.reject)
    failures: list[object] = []
    dialog.failed.connect(failures.append)
    message = "The cache is <b>gone</b>"

    def is_shown() -> bool:
        return message in [label.text() for label in dialog.findChildren(QLabel)]

    qtbot.waitUntil(lambda: bool(failures) or is_shown())
    assert failures == ([] if isinstance(error, UserError) else [error])
