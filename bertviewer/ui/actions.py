"""The window's actions, as one table: title, shortcut, menu, and what they call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from bertviewer.core.presets import preset_names
from bertviewer.core.tasks import TASKS
from bertviewer.ui.appearance import APPEARANCES
from bertviewer.ui.translation import QT_TRANSLATE_NOOP


class Commands(Protocol):
    """What the actions call: the main window."""

    def open_named(self, name: str) -> None: ...  # noqa: D102
    def choose_folder(self) -> None: ...  # noqa: D102
    def set_task(self, name: str) -> None: ...  # noqa: D102
    def choose_report(self) -> None: ...  # noqa: D102
    def set_appearance(self, name: str) -> None: ...  # noqa: D102
    def focus_filter(self) -> None: ...  # noqa: D102
    def focus_sentence(self) -> None: ...  # noqa: D102
    def show_about(self) -> None: ...  # noqa: D102
    def close(self) -> bool: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Action:
    """An action by its object name; ``menu`` is the title of the menu that it stands in."""

    name: str
    menu: str
    title: str
    shortcut: str
    call: Callable[[Commands], object]


FILE = QT_TRANSLATE_NOOP("actions", "&File")
VIEW = QT_TRANSLATE_NOOP("actions", "&View")
HELP = QT_TRANSLATE_NOOP("actions", "&Help")

ACTIONS = (
    Action("openFolder", FILE, QT_TRANSLATE_NOOP("actions", "&Open folder…"), "Ctrl+O",
           lambda c: c.choose_folder()),
    Action("exportPdf", FILE, QT_TRANSLATE_NOOP("actions", "&Export report as PDF…"), "Ctrl+E",
           lambda c: c.choose_report()),
    Action("quit", FILE, QT_TRANSLATE_NOOP("actions", "&Quit"), "Ctrl+Q", lambda c: c.close()),
    Action("focusFilter", VIEW, QT_TRANSLATE_NOOP("actions", "&Filter modules"), "Ctrl+F",
           lambda c: c.focus_filter()),
    Action("focusSentence", VIEW, QT_TRANSLATE_NOOP("actions", "Edit the &sentence"), "Ctrl+L",
           lambda c: c.focus_sentence()),
    Action("about", HELP, QT_TRANSLATE_NOOP("actions", "&About bertviewer"), "",
           lambda c: c.show_about()),
)  # fmt: skip


def make_menus(window: QMainWindow, commands: Commands) -> dict[str, QAction]:
    """Fill the window's menu bar, and return the table's actions by name."""
    menus = {title: window.menuBar().addMenu(_translated(title)) for title in (FILE, VIEW, HELP)}
    made = {}
    _add_presets(menus[FILE], commands)
    for action in ACTIONS:
        made[action.name] = menus[action.menu].addAction(_translated(action.title))
        made[action.name].setObjectName(action.name)
        made[action.name].setShortcut(QKeySequence(action.shortcut))
        made[action.name].triggered.connect(lambda _=False, call=action.call: call(commands))
    heads = QMenu(_translated(QT_TRANSLATE_NOOP("actions", "&Head")), window)
    menus[FILE].insertMenu(made["exportPdf"], heads)
    _add_choices(heads, [(t.name, t.title) for t in TASKS], "base", commands.set_task)
    menus[VIEW].addSeparator()
    appearance = menus[VIEW].addMenu(_translated(QT_TRANSLATE_NOOP("actions", "&Appearance")))
    titles = [(name, name.capitalize()) for name in APPEARANCES]
    _add_choices(appearance, titles, APPEARANCES[0], commands.set_appearance)
    return made


def _add_presets(menu: QMenu, commands: Commands) -> None:
    presets = menu.addMenu(_translated(QT_TRANSLATE_NOOP("actions", "Open &model")))
    for name in ("demo", *preset_names()):
        action = presets.addAction(name)
        action.triggered.connect(lambda _=False, name=name: commands.open_named(name))


def _add_choices(
    menu: QMenu, choices: list[tuple[str, str]], chosen: str, call: Callable[[str], None]
) -> None:
    group = QActionGroup(menu)
    for name, title in choices:
        action = menu.addAction(title)
        action.setObjectName(f"{menu.title().strip('&').lower()}:{name}")
        action.setCheckable(True)
        action.setChecked(name == chosen)
        group.addAction(action)
        action.triggered.connect(lambda _=False, name=name: call(name))


def _translated(text: str) -> str:
    return QCoreApplication.translate("actions", text)
