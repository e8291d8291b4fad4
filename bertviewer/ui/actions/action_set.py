"""The window's QActions and menus, made from the table of actions."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QLineEdit,
    QMainWindow,
    QMenu,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)
from typing_extensions import override

from bertviewer.ui.actions.action import (
    NUMBERED,
    Action,
    Choice,
    Entry,
    Option,
    disabled_reason,
    native_keys,
)
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import named

MODULE_MENU = (
    *("showMap", "showTensors", "showSource", "checkModule", ""),
    *("copyPath", "copyPython", "copyRowCsv", "copyRowMarkdown"),
)
"""Actions in the context menus of a module; "" is a separator."""

MAX_TITLE = 480  # pixels of an option's title
_TEXT_FIELDS = (QLineEdit, QAbstractSpinBox, QComboBox, QPlainTextEdit, QTextEdit)


class ActionSet(QObject):
    """Creates a ``QAction`` or a submenu for each entry, in the window's menu bar.

    Attributes:
        entries: the table of actions.
        menus: the menus of the menu bar.
    """

    def __init__(
        self,
        window: QMainWindow,
        workspace: Workspace,
        menus: Sequence[str],
        table: Sequence[Entry],
    ) -> None:
        super().__init__(window)
        self._workspace = workspace
        self.entries = tuple(table)
        self._actions: dict[str, QAction] = {}
        self._choices: list[_ChoiceMenu] = []
        bar = window.menuBar()
        by_title = {title: bar.addMenu(title) for title in menus}
        self.menus = tuple(by_title.values())
        for menu in self.menus:
            menu.setToolTipsVisible(True)
            menu.aboutToShow.connect(self._on_show)
        for entry in self.entries:
            menu = by_title[entry.menu]
            if entry.begins_group:
                menu.addSeparator()
            if isinstance(entry, Action):
                action = named(menu.addAction(entry.title), entry.name)
                action.setShortcuts([QKeySequence(keys) for keys in entry.keys])
                action.triggered.connect(lambda _=False, call=entry.call: call())
                window.addAction(action)  # its shortcuts work without the menu bar, too
                self._actions[entry.name] = action
                continue
            choice = _ChoiceMenu(menu, entry, workspace)
            self._choices.append(choice)
            self._actions[entry.name] = choice.menu.menuAction()
            for number in range(NUMBERED if entry.keys else 0):
                keys = QKeySequence(entry.option_keys(number))
                QShortcut(keys, window, partial(choice.choose, number))
        for signal in (
            workspace.architecture_changed,
            workspace.devices_changed,
            workspace.jobs.activity_changed,
            workspace.runs.run_changed,
            workspace.history.changed,
            workspace.heads_known,
        ):
            signal.connect(self.update)
        self.update()
        ShortcutOverride(window, self.shortcuts)

    @property
    def shortcuts(self) -> set[str]:
        """All shortcuts of the window."""
        of_actions = {
            keys for each in self.entries if isinstance(each, Action) for keys in each.keys
        }
        return of_actions | {
            each.option_keys(number)
            for each in self.entries
            if isinstance(each, Choice) and each.keys
            for number in range(NUMBERED)
        }

    def action(self, name: str) -> QAction:
        """Return the ``QAction`` of an entry, for a submenu the one that opens it."""
        return self._actions[name]

    def entry(self, name: str) -> Action:
        """Return the record of an action."""
        return next(each for each in self.entries if isinstance(each, Action) and each.name == name)

    def offer(self, menu: QMenu, names: Sequence[str]) -> None:
        """Add entries to another menu, too; "" is a separator."""
        for name in names:
            if name:
                menu.addAction(self._actions[name])
            else:
                menu.addSeparator()
        menu.aboutToShow.connect(self._on_show)

    def update(self) -> None:
        """Enable what can be done now, and check what is chosen."""
        for entry in self.entries:
            if isinstance(entry, Action):
                reason = disabled_reason(entry, self._workspace)
                self._actions[entry.name].setEnabled(not reason)
                self._actions[entry.name].setToolTip(plain_tooltip(reason or entry.tooltip))
        for choice in self._choices:
            if not choice.record.is_slow:
                choice.update()

    def _on_show(self) -> None:
        for choice in self._choices:
            choice.update()


def add_module_actions(menu: QMenu) -> None:
    """Add the window's actions for the selected module to a context menu."""
    window: QWidget = menu
    while (parent := window.parentWidget()) is not None:  # also from a floating pane
        window = parent
    if (actions := window.findChild(ActionSet)) is not None:
        actions.offer(menu, MODULE_MENU)


class _ChoiceMenu:
    """The submenu of a choice, filled again when its options have changed."""

    def __init__(self, above: QMenu, record: Choice, workspace: Workspace) -> None:
        self.record = record
        self.menu = named(above.addMenu(record.title), record.name)
        self._workspace = workspace
        self._options: Sequence[Option] = ()
        self._group = QActionGroup(self.menu)

    def update(self) -> None:
        """Show the present options."""
        options = self.record.options()
        if options != self._options:
            self._options = options
            self._fill()
        self.menu.setEnabled(bool(options) and not disabled_reason(self.record, self._workspace))
        if self.record.chosen is not None:
            chosen = self.record.chosen()
            for action in self._group.actions():
                action.setChecked(action.data() == chosen)

    def choose(self, number: int) -> None:
        """Choose an option by its position, if that can be done."""
        options = self.record.options()
        if number < len(options) and not disabled_reason(self.record, self._workspace):
            self.record.choose(options[number].name)

    def _fill(self) -> None:
        self.menu.clear()
        metrics = self.menu.fontMetrics()
        for number, option in enumerate(self._options):
            title = metrics.elidedText(option.title, Qt.TextElideMode.ElideMiddle, MAX_TITLE)
            title = title.replace("&", "&&").replace("\t", " ")
            # The shortcuts are the window's: this menu is only filled when it is shown.
            keys = native_keys(self.record.option_keys(number))
            action = self._group.addAction(self.menu.addAction(f"{title}\t{keys}".rstrip()))
            action.setObjectName(option.name)
            action.setData(option.name)
            action.setCheckable(self.record.chosen is not None)
            action.triggered.connect(lambda _=False, name=option.name: self.record.choose(name))


class ShortcutOverride(QObject):
    """Keeps text fields from claiming the shortcuts of a window.

    A text field accepts ``ShortcutOverride`` for its editing keys, which differ by platform: on X11
    Ctrl+E moves to the end of the line. Here the event is left unaccepted for keys that the window
    uses, so that Qt goes on to the parents, which may still claim it, and then to the shortcuts.
    """

    def __init__(self, window: QWidget, keys: set[str]) -> None:
        super().__init__(window)
        self._window = window
        self._keys = {QKeySequence(each).toString() for each in keys}
        self._field: QWidget | None = None
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._follow)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and QKeySequence(event.keyCombination()).toString() in self._keys
        ):
            event.ignore()
            return True
        return False

    def _follow(self, _old: QWidget | None, new: QWidget | None) -> None:
        if self._field is not None:
            self._field.removeEventFilter(self)
            self._field.destroyed.disconnect(self._forget)
            self._field = None
        if isinstance(new, _TEXT_FIELDS) and self._has_shortcuts(new.window()):
            self._field = new
            new.installEventFilter(self)
            new.destroyed.connect(self._forget)

    def _has_shortcuts(self, window: QWidget) -> bool:
        """Return whether the shortcuts work there: in the window and its floating panes."""
        return window is self._window or (
            isinstance(window, QDockWidget) and window.parent() is self._window
        )

    def _forget(self) -> None:
        self._field = None
