"""The palette in the window: what it finds, and what choosing it does, by keys and by mouse."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListView, QTableView, QTabWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from bertviewer.ui.palette.popup import PalettePopup
from bertviewer.ui.palette.results import ROW_ROLE, HitRow
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.theme.appearance import stored_appearance
from tests.ui.finding import activate, find, is_drawn

Type = Callable[[str], None]


@pytest.fixture
def type_in(demo_window: MainWindow, qtbot: QtBot) -> Type:
    """Return what opens the palette over the demo and types."""
    activate(demo_window, qtbot)

    def type_in(text: str) -> None:
        qtbot.keyClick(demo_window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        field = find(demo_window, QLineEdit, "paletteEdit")
        assert field.hasFocus()
        qtbot.keyClicks(field, text)
        qtbot.waitUntil(lambda: not find(demo_window, PalettePopup).is_searching)

    return type_in


def rows(window: MainWindow) -> list[HitRow]:
    model = find(window, QListView, "paletteHits").model()
    return [model.index(n, 0).data(ROW_ROLE) for n in range(model.rowCount())]


def texts(window: MainWindow) -> list[str]:
    return [row.text for row in rows(window)]


def current(window: MainWindow) -> str:
    row: HitRow = find(window, QListView, "paletteHits").currentIndex().data(ROW_ROLE)
    return row.text


def press(window: MainWindow, qtbot: QtBot, key: Qt.Key) -> None:
    qtbot.keyClick(find(window, QLineEdit, "paletteEdit"), key)


def is_open(window: MainWindow) -> bool:
    return find(window, PalettePopup).isVisible()


def test_a_module_is_selected(demo_window: MainWindow, type_in: Type, qtbot: QtBot) -> None:
    type_in("layer 3 query")
    assert texts(demo_window)[:2] == [
        "Modules", "encoder.layer.3.attention.self.query, Linear"
    ]  # fmt: skip
    press(demo_window, qtbot, Qt.Key.Key_Return)
    assert not is_open(demo_window)
    path = demo_window.workspace.selection.place.path
    assert path == "encoder.layer.3.attention.self.query"


def test_a_class_is_found(demo_window: MainWindow, type_in: Type) -> None:
    type_in("bertpooler")
    assert current(demo_window) == "pooler, BertPooler"


def test_a_tensor_is_looked_into(demo_window: MainWindow, type_in: Type, qtbot: QtBot) -> None:
    type_in("#word 30522x384")
    assert texts(demo_window) == ["Tensors", "embeddings.word_embeddings.weight, 30522×384"]
    press(demo_window, qtbot, Qt.Key.Key_Return)
    assert demo_window.workspace.selection.place.path == "embeddings.word_embeddings"
    tabs = find(demo_window, QTabWidget, "detailTabs")
    assert tabs.tabText(tabs.currentIndex()) == "Tensors"
    table = find(demo_window, QTableView, "tensorTable")
    assert table.currentIndex().siblingAtColumn(0).data() == "weight"
    type_in("#query.bias 5")
    press(demo_window, qtbot, Qt.Key.Key_Return)
    assert table.currentIndex().siblingAtColumn(0).data() == "bias"


def test_tokens_of_the_run(demo_window: MainWindow, type_in: Type, qtbot: QtBot) -> None:
    demo_window.set_sentence("The bank by the river bank", None)
    demo_window.run()
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    type_in("@bank")
    assert texts(demo_window) == ["Tokens", "bank, token 2", "bank, token 6"]
    press(demo_window, qtbot, Qt.Key.Key_Down)
    press(demo_window, qtbot, Qt.Key.Key_Enter)
    assert demo_window.workspace.selection.token == 6


def test_commands_show_their_keys_and_why_not(
    demo_window: MainWindow, type_in: Type, qtbot: QtBot
) -> None:
    type_in(">set as baseline")
    row = rows(demo_window)[1]
    assert row.text.startswith("Set as baseline (A)")
    assert row.item is not None
    assert (row.item.keys, row.item.disabled_reason) == (
        "Ctrl+Shift+K",
        "No sentence has been run yet",
    )
    press(demo_window, qtbot, Qt.Key.Key_Return)
    assert is_open(demo_window), "what cannot be done is not left without a word"
    press(demo_window, qtbot, Qt.Key.Key_Escape)
    assert not is_open(demo_window)


def test_settings_are_chosen(demo_window: MainWindow, type_in: Type, qtbot: QtBot) -> None:
    type_in("dark")
    assert current(demo_window) == "Appearance: Dark"
    press(demo_window, qtbot, Qt.Key.Key_Return)
    assert stored_appearance() == "dark"
    type_in("appearance")
    chosen = [row.text for row in rows(demo_window) if row.item and row.item.is_chosen]
    assert chosen == ["Appearance: Dark"]
    press(demo_window, qtbot, Qt.Key.Key_Escape)
    demo_window.set_appearance("light")


def test_models_are_found(
    demo_window: MainWindow, type_in: Type, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    opened: list[str] = []
    demo_window.opening.began.connect(opened.append)
    type_in("gpt2")
    assert current(demo_window).startswith("gpt2")
    press(demo_window, qtbot, Qt.Key.Key_Return)
    assert opened == ["gpt2"]


def test_before_anything_is_typed(demo_window: MainWindow, type_in: Type, qtbot: QtBot) -> None:
    for key in ("pooler", "encoder", "embeddings"):
        demo_window.workspace.selection.select(key)
    type_in("")
    assert texts(demo_window)[:4] == ["Recent", "encoder", "pooler", "BertModel"]
    assert "Commands" in texts(demo_window)
    press(demo_window, qtbot, Qt.Key.Key_Return)
    assert demo_window.workspace.selection.place.path == "encoder"


def test_moving_in_the_list(demo_window: MainWindow, type_in: Type, qtbot: QtBot) -> None:
    type_in("attention")
    first = current(demo_window)
    hits = [row.text for row in rows(demo_window) if row.hit]
    press(demo_window, qtbot, Qt.Key.Key_Down)
    assert current(demo_window) == hits[1]
    press(demo_window, qtbot, Qt.Key.Key_Tab)
    assert current(demo_window) == hits[2]
    qtbot.keyClick(
        find(demo_window, QLineEdit, "paletteEdit"),
        Qt.Key.Key_Backtab,
        Qt.KeyboardModifier.ShiftModifier,
    )
    press(demo_window, qtbot, Qt.Key.Key_Up)
    assert current(demo_window) == first
    press(demo_window, qtbot, Qt.Key.Key_Up)
    assert current(demo_window) == hits[-1]
    assert find(demo_window, QLineEdit, "paletteEdit").hasFocus()


def test_by_mouse(demo_window: MainWindow, type_in: Type, qtbot: QtBot) -> None:
    type_in("pooler dense")
    hits = find(demo_window, QListView, "paletteHits")
    place = hits.visualRect(hits.model().index(1, 0)).center()
    qtbot.mouseClick(hits.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert not is_open(demo_window)
    assert demo_window.workspace.selection.place.path == "pooler.dense"


def test_nothing_fits(demo_window: MainWindow, type_in: Type, qtbot: QtBot) -> None:
    type_in("qqqqzzzz")
    assert find(demo_window, QLabel, "paletteNothing").isVisible()
    assert texts(demo_window) == []
    press(demo_window, qtbot, Qt.Key.Key_Return)
    press(demo_window, qtbot, Qt.Key.Key_Down)
    assert is_open(demo_window)


def test_return_waits_for_the_first_results(
    demo_window: MainWindow, type_in: Type, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in("")
    monkeypatch.setattr("bertviewer.ui.palette.popup.SLICE", 1e-5)  # seconds
    find(demo_window, QLineEdit, "paletteEdit").setText("layer 3 query")
    assert find(demo_window, PalettePopup).is_searching
    press(demo_window, qtbot, Qt.Key.Key_Return)
    path = demo_window.workspace.selection.place.path
    assert path == "encoder.layer.3.attention.self.query"


def test_the_keys_go_back_where_they_were(
    demo_window: MainWindow, type_in: Type, qtbot: QtBot
) -> None:
    sentence = find(demo_window, QLineEdit, "sentenceEdit")
    sentence.setFocus()
    type_in("pooler")
    press(demo_window, qtbot, Qt.Key.Key_Escape)
    assert QApplication.focusWidget() is sentence
    type_in("pooler")
    press(demo_window, qtbot, Qt.Key.Key_Return)
    assert QApplication.focusWidget() is sentence


def test_it_closes_though_what_had_the_keys_is_gone(
    demo_window: MainWindow, type_in: Type, qtbot: QtBot
) -> None:
    lone = QLineEdit(demo_window)
    lone.show()
    lone.setFocus()
    assert QApplication.focusWidget() is lone
    type_in("pooler")
    delete(lone)
    press(demo_window, qtbot, Qt.Key.Key_Escape)
    assert not is_open(demo_window)


def test_a_turn_to_something_else_closes_it(demo_window: MainWindow, type_in: Type) -> None:
    type_in("pooler")
    filter_field = find(demo_window, QLineEdit, "treeFilter")
    filter_field.setFocus()
    assert not is_open(demo_window)
    assert QApplication.focusWidget() is filter_field


def test_it_opens_without_a_model(window: MainWindow, qtbot: QtBot) -> None:
    activate(window, qtbot)
    find(window, QAction, "palette").trigger()
    qtbot.keyClicks(find(window, QLineEdit, "paletteEdit"), "gpt2")
    qtbot.waitUntil(lambda: not find(window, PalettePopup).is_searching)
    assert current(window).startswith("gpt2")
    find(window, PalettePopup).dismiss()


def test_it_stays_inside_of_a_small_window(demo_window: MainWindow, type_in: Type) -> None:
    type_in("e")
    popup = find(demo_window, PalettePopup)
    for width, height in ((1000, 600), (1360, 860)):
        demo_window.resize(width, height)
        assert demo_window.rect().contains(popup.geometry())
