"""The window's actions: one table, which menus and keys come from."""

from collections import Counter

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu, QTabWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.actions.action import Action, plain_title
from bertviewer.ui.shell.action_table import menu_titles
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import activate, find, last_run


def test_no_name_and_no_keys_are_used_twice(window: MainWindow) -> None:
    entries = window.action_set.entries
    names = Counter(entry.name for entry in entries)
    actions = [entry for entry in entries if isinstance(entry, Action)]
    keys = Counter(QKeySequence(each).toString() for action in actions for each in action.keys)
    assert "" not in keys, "keys that Qt does not know"
    assert set((names | keys).values()) == {1}


def test_no_mnemonic_is_used_twice_in_a_menu(window: MainWindow) -> None:
    for menu in menu_titles():
        letters = Counter(
            entry.title[entry.title.index("&") + 1].lower()
            for entry in window.action_set.entries
            if entry.menu == menu and "&" in entry.title
        )
        assert set(letters.values()) == {1}, menu


def test_tooltips_have_the_shortcuts_in_them(window: MainWindow) -> None:
    entry = window.action_set.entry
    assert entry("keepAsA").tooltip == "Compare later runs (B) with this run (Ctrl+Shift+K)"
    tooltip = "Python expression for this module, such as model.layer[3]"
    assert entry("copyPython").tooltip == tooltip
    assert entry("exportPdf").shortcut == "Ctrl+E"
    assert plain_title(entry("openFolder")) == "Open folder"


def menu_texts(menu: QMenu) -> list[str]:
    return ["—" if action.isSeparator() else action.text() for action in menu.actions()]


def test_menus_are_the_table(window: MainWindow) -> None:
    bar = window.menuBar().actions()
    assert [action.text() for action in bar] == list(menu_titles())
    for above, title in zip(bar, menu_titles(), strict=True):
        menu = above.menu()
        assert isinstance(menu, QMenu)
        entries = [entry for entry in window.action_set.entries if entry.menu == title]
        expected = [
            text
            for entry in entries
            for text in (["—"] if entry.begins_group else []) + [entry.title]
        ]
        # Qt shows no line above the first thing in a menu.
        assert menu_texts(menu) == expected
        assert menu.toolTipsVisible()


def test_what_cannot_be_done_says_why(window: MainWindow) -> None:
    def tip(name: str) -> str:
        action = find(window, QAction, name)
        assert not action.isEnabled()
        return action.toolTip()

    assert tip("exportPdf") == "No model is open"
    assert tip("cancel") == "No task is running"
    assert tip("keepAsA") == "No sentence has been run yet"
    assert tip("goBack") == "No earlier selection"
    assert not find(window, QMenu, "head").isEnabled()
    assert find(window, QAction, "openFolder").isEnabled()


def test_conditions_follow_the_window(demo_window: MainWindow, qtbot: QtBot) -> None:
    def is_enabled(name: str) -> bool:
        return find(demo_window, QAction, name).isEnabled()

    assert is_enabled("exportPdf")
    assert not is_enabled("checkModule")
    demo_window.set_sentence("a test", None)
    demo_window.run()
    assert is_enabled("cancel")
    assert not is_enabled("exportPdf")
    qtbot.waitUntil(lambda: not demo_window.workspace.jobs.activity)
    assert last_run(demo_window).tokens
    assert is_enabled("keepAsA")
    assert is_enabled("checkModule")
    assert not is_enabled("cancel")
    demo_window.workspace.selection.select("encoder.layer")  # a list, which nothing calls
    assert not is_enabled("checkModule")
    tip = find(demo_window, QAction, "checkModule").toolTip()
    assert tip == "The last run did not call this module"


def test_each_tab_can_be_shown(demo_window: MainWindow, qtbot: QtBot) -> None:
    tabs = find(demo_window, QTabWidget, "detailTabs")
    for number in reversed(range(tabs.count())):
        title = tabs.tabText(number)
        find(demo_window, QAction, f"show{title.title().replace(' ', '')}").trigger()
        assert tabs.currentIndex() == number
    activate(demo_window, qtbot)
    qtbot.keyClick(demo_window, Qt.Key.Key_5, Qt.KeyboardModifier.AltModifier)
    assert tabs.tabText(tabs.currentIndex()) == "What if"


def test_copying_the_selected_module(demo_window: MainWindow) -> None:
    def copied(name: str) -> str:
        find(demo_window, QAction, name).trigger()
        return QApplication.clipboard().text()

    select = demo_window.workspace.selection.select
    select("encoder.layer.3.attention.self.query")
    assert copied("copyPath") == "encoder.layer.3.attention.self.query"
    assert copied("copyPython") == "model.encoder.layer[3].attention.self.query"
    assert copied("copyRowCsv").splitlines() == [
        "Module,Class,Parameters,Share,Shape",
        f'encoder.layer.3.attention.self.query,Linear,147840,{147840 / 22713216!r},"[384, 384]"',
    ]
    assert copied("copyRowMarkdown").splitlines()[-1] == (
        r"| encoder.layer.3.attention.self.query | Linear | 147,840 | 0.65% | \[384, 384\] |"
    )
    select("encoder.layer[0–5]")
    assert copied("copyPath") == "encoder.layer"
    select("")
    assert copied("copyPath") == "BertModel"
    assert copied("copyPython") == "model"


def test_back_and_forward_by_keys(demo_window: MainWindow, qtbot: QtBot) -> None:
    selection = demo_window.workspace.selection
    selection.select("encoder")
    selection.select("pooler")
    activate(demo_window, qtbot)
    qtbot.keyClick(demo_window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert selection.place.path == "encoder"
    qtbot.keyClick(demo_window, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert selection.place.path == "pooler"
