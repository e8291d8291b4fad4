"""What can be done with a module, as a menu over its row: the same actions as in the menu bar."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from bertviewer.core.architecture.folding import TreeRow
from bertviewer.ui.action import Action, Commands, why_not
from bertviewer.ui.actions import ENTRIES, MODULE
from bertviewer.ui.menus import add_action, enable
from bertviewer.ui.workspace import Workspace


def module_menu(workspace: Workspace, row: TreeRow, commands: Commands) -> QMenu:
    """Select a row, and return a menu of what can be done with it."""
    workspace.selection.select(row.key)
    menu = QMenu()
    menu.setObjectName("moduleMenu")
    add_module_actions(menu, commands)
    return menu


def add_module_actions(menu: QMenu, commands: Commands) -> None:
    """Add what can be done with the selected module to a menu."""
    menu.setToolTipsVisible(True)
    for entry in ENTRIES:
        if isinstance(entry, Action) and entry.menu == MODULE:
            if entry.begins_group:
                menu.addSeparator()
            made = add_action(menu, entry, commands)
            made.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)  # it only shows the keys
            enable(made, entry, why_not(entry, commands.workspace))
