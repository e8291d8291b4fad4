"""Actions of the window: one table for menus, palette, shortcuts and tooltips."""

from collections import Counter

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from bertviewer.ui.actions import module_actions
from bertviewer.ui.actions.action import Action, plain_title
from bertviewer.ui.settings.settings import RECENT, store
from bertviewer.ui.shell.action_table import menu_titles
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import plain
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import activate, find, has_error


def test_names_shortcuts_and_mnemonics_are_unique(window: MainWindow) -> None:
    entries = window.action_set.entries
    names = Counter(entry.name for entry in entries)
    actions = [entry for entry in entries if isinstance(entry, Action)]
    keys = Counter(QKeySequence(each).toString() for action in actions for each in action.keys)
    assert "" not in keys, "a shortcut that Qt does not know"
    assert set((names | keys).values()) == {1}
    for menu in menu_titles():
        mnemonics = Counter(
            entry.title[entry.title.index("&") + 1].lower()
            for entry in entries
            if entry.menu == menu and "&" in entry.title
        )
        assert set(mnemonics.values()) == {1}, menu


def test_tooltips_contain_the_shortcut(window: MainWindow) -> None:
    entry = window.action_set.entry
    assert entry("keepAsA").tooltip == "Compare later runs (B) with this run (Ctrl+Shift+K)"
    tooltip = "Python expression for this module, such as model.layer[3]"
    assert entry("copyPython").tooltip == tooltip
    assert entry("exportPdf").shortcut == "Ctrl+E"
    assert plain_title(entry("openFolder")) == "Open folder"


def test_menus_follow_the_table(window: MainWindow) -> None:
    bar = window.menuBar().actions()
    assert [action.text() for action in bar] == list(menu_titles())
    for above, title in zip(bar, menu_titles(), strict=True):
        menu = above.menu()
        assert isinstance(menu, QMenu)
        texts = ["—" if each.isSeparator() else each.text() for each in menu.actions()]
        expected = [
            text
            for entry in window.action_set.entries
            if entry.menu == title
            for text in (["—"] if entry.begins_group else []) + [entry.title]
        ]
        assert texts == expected  # Qt shows no separator at the top of a menu
        assert menu.toolTipsVisible()


def test_disabled_actions_say_why(window: MainWindow) -> None:
    for name, reason in (
        ("exportPdf", "No model is open"),
        ("cancel", "No task is running"),
        ("keepAsA", "No sentence has been run yet"),
        ("goBack", "No earlier selection"),
    ):
        action = find(window, QAction, name)
        assert not action.isEnabled()
        assert action.toolTip() == reason
    assert not find(window, QMenu, "head").isEnabled()
    assert find(window, QAction, "openFolder").isEnabled()


def test_a_shortcut_of_a_choice_needs_its_option_and_its_conditions(
    window: MainWindow, qtbot: QtBot
) -> None:
    """Ctrl+1 opens the first recent model; there is no second one."""
    store(RECENT, ["/gone"])
    activate(window, qtbot)
    qtbot.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert not has_error(window)
    qtbot.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert has_error(window)


def test_copying_the_selected_module(workspace: Workspace) -> None:
    select = workspace.selection.select
    show_architecture(workspace, plain("bert-base-uncased"))

    def copied(name: str) -> str:
        getattr(module_actions, f"copy_{name}")(workspace)
        return QApplication.clipboard().text()

    path, share = "encoder.layer.3.attention.self.query", 590_592 / 109_482_240
    select(path)
    assert copied("path") == path
    assert copied("python") == "model.encoder.layer[3].attention.self.query"
    assert copied("csv").splitlines() == [
        "Module,Class,Parameters,Share,Shape",
        f'{path},Linear,590592,{share!r},"[768, 768]"',
    ]
    markdown = rf"| {path} | Linear | 590,592 | {share:.2%} | \[768, 768\] |"
    assert copied("markdown").splitlines()[-1] == markdown
    select("encoder.layer[0–11]")
    assert copied("path") == "encoder.layer"
    select("")
    assert copied("path") == "BertModel"
    assert copied("python") == "model"
