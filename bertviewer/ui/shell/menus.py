"""The window's menu bar, filled from the table of actions."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QShortcut
from PySide6.QtWidgets import QMainWindow, QMenu

from bertviewer.ui.actions.action import (
    NUMBERED,
    Action,
    Choice,
    Commands,
    Option,
    option_keys,
    tip_of,
    title_of,
    why_not,
    written_keys,
)
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.shell.action_table import ENTRIES, MENUS
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import named

WIDEST = 480  # pixels of an option's title


class Menus:
    """The menus, whose actions can be chosen when what they need is so."""

    def __init__(self, window: QMainWindow, commands: Commands) -> None:
        self._workspace = workspace = commands.workspace
        self._actions: list[tuple[Action, QAction]] = []
        self._choices: list[_ChoiceMenu] = []
        bar = window.menuBar()
        menus = {title: bar.addMenu(translate("actions", title)) for title in MENUS}
        self.all = tuple(menus.values())
        for menu in menus.values():
            menu.setToolTipsVisible(True)
            menu.aboutToShow.connect(self._on_show)
        for entry in ENTRIES:
            menu = menus[entry.menu]
            if entry.begins_group:
                menu.addSeparator()
            if isinstance(entry, Action):
                action = add_action(menu, entry, commands)
                window.addAction(action)  # its keys do not hang on the menu bar
                self._actions.append((entry, action))
            else:
                made = _ChoiceMenu(menu, entry, commands)
                self._choices.append(made)
                for place in range(NUMBERED if entry.keys else 0):
                    keys = QKeySequence(option_keys(entry, place))
                    QShortcut(keys, window, partial(made.choose, place))
        for signal in (
            workspace.architecture_changed,
            workspace.devices_changed,
            workspace.scheduler.activity_changed,
            workspace.runs.run_changed,
            workspace.history.changed,
            workspace.heads_known,
        ):
            signal.connect(self.update)
        self.update()

    def action(self, name: str) -> QAction:
        """Return the action of that name, for a button that does the same."""
        return next(made for entry, made in self._actions if entry.name == name)

    def offer(self, menu: QMenu, names: Sequence[str]) -> None:
        """Offer actions and choices of these names in another menu too; "" is a line."""
        made = {entry.name: action for entry, action in self._actions}
        made |= {choice.name: choice.action for choice in self._choices}
        for name in names:
            if name:
                menu.addAction(made[name])
            else:
                menu.addSeparator()
        menu.aboutToShow.connect(self._on_show)

    def update(self) -> None:
        """Let be chosen what can be done now, and mark what is chosen."""
        for entry, made in self._actions:
            enable(made, entry, why_not(entry, self._workspace))
        for choice in self._choices:
            choice.update()

    def _on_show(self) -> None:
        for choice in self._choices:
            choice.ask()


def add_action(menu: QMenu, entry: Action, commands: Commands) -> QAction:
    """Add an action to a menu, with its keys."""
    made = named(menu.addAction(title_of(entry)), entry.name)
    made.setShortcuts([QKeySequence(keys) for keys in entry.keys])
    made.triggered.connect(lambda: entry.call(commands))
    return made


def enable(action: QAction, entry: Action, reason: str) -> None:
    """Let an action be chosen if there is no reason not to; its tip says which."""
    action.setEnabled(not reason)
    action.setToolTip(plain_tooltip(reason or tip_of(entry)))


class _ChoiceMenu:
    """A menu below another one, filled anew when there is something else to choose."""

    def __init__(self, above: QMenu, choice: Choice, commands: Commands) -> None:
        self._choice, self._commands = choice, commands
        self._options: Sequence[Option] = ()
        self._menu = named(above.addMenu(title_of(choice)), choice.name)
        self._group = QActionGroup(self._menu)

    @property
    def name(self) -> str:
        """The object name of the menu."""
        return self._choice.name

    @property
    def action(self) -> QAction:
        """What the menu is opened by, which another menu may have too."""
        return self._menu.menuAction()

    def update(self) -> None:
        """Offer what there is now, unless asking for it is slow."""
        if not self._choice.is_slow:
            self.ask()

    def ask(self) -> None:
        """Offer what there is now."""
        options = self._choice.options(self._commands)
        if options != self._options:
            self._options = options
            self._fill()
        reason = why_not(self._choice, self._commands.workspace)
        self._menu.setEnabled(bool(options) and not reason)
        if self._choice.chosen is not None:
            chosen = self._choice.chosen(self._commands)
            for action in self._group.actions():
                action.setChecked(action.data() == chosen)

    def choose(self, place: int) -> None:
        """Choose the option at a place, if there is one that can be chosen."""
        options = self._choice.options(self._commands)
        if place < len(options) and not why_not(self._choice, self._commands.workspace):
            self._choice.choose(self._commands, options[place].name)

    def _fill(self) -> None:
        self._menu.clear()
        metrics = self._menu.fontMetrics()
        for place, option in enumerate(self._options):
            title = metrics.elidedText(option.title, Qt.TextElideMode.ElideMiddle, WIDEST)
            title = title.replace("&", "&&").replace("\t", " ")
            # The keys are the window's: a menu is only filled when it comes up.
            keys = written_keys(option_keys(self._choice, place))
            action = self._group.addAction(self._menu.addAction(f"{title}\t{keys}".rstrip()))
            action.setObjectName(option.name)
            action.setData(option.name)
            action.setCheckable(self._choice.chosen is not None)
            action.triggered.connect(
                lambda _=False, name=option.name: self._choice.choose(self._commands, name)
            )
