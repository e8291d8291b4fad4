"""The window's actions, as one table: title, shortcut, menu, and what they call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from bertviewer.core.run.device import Device
from bertviewer.core.source.presets import preset_names
from bertviewer.core.source.tasks import TASKS
from bertviewer.ui.look.appearance import DARK_NAME, LIGHT_NAME, SYSTEM
from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate


class Opens(Protocol):
    """What the actions call to open a model."""

    @property
    def recent(self) -> Sequence[tuple[str, bool]]: ...  # noqa: D102
    def open_named(self, name: str) -> None: ...  # noqa: D102
    def open_recent(self, name: str) -> None: ...  # noqa: D102
    def choose_folder(self) -> None: ...  # noqa: D102
    def choose_file(self) -> None: ...  # noqa: D102
    def choose_hub(self) -> None: ...  # noqa: D102


class Compares(Protocol):
    """What the actions call to compare the open model."""

    def choose_folder(self) -> None: ...  # noqa: D102
    def choose_file(self) -> None: ...  # noqa: D102


class Commands(Protocol):
    """What the actions call: the main window."""

    @property
    def opening(self) -> Opens: ...  # noqa: D102
    @property
    def comparing(self) -> Compares: ...  # noqa: D102
    def set_task(self, name: str) -> None: ...  # noqa: D102
    def choose_report(self) -> None: ...  # noqa: D102
    def choose_modules(self) -> None: ...  # noqa: D102
    def set_appearance(self, name: str) -> None: ...  # noqa: D102
    def set_device(self, name: str) -> None: ...  # noqa: D102
    def run(self) -> None: ...  # noqa: D102
    def cancel(self) -> None: ...  # noqa: D102
    def keep_run(self) -> None: ...  # noqa: D102
    def enlarge_views(self) -> None: ...  # noqa: D102
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
RUN = QT_TRANSLATE_NOOP("actions", "&Run")
HELP = QT_TRANSLATE_NOOP("actions", "&Help")

ACTIONS = (
    Action("openFolder", FILE, QT_TRANSLATE_NOOP("actions", "&Open folder…"), "Ctrl+O",
           lambda c: c.opening.choose_folder()),
    Action("openFile", FILE, QT_TRANSLATE_NOOP("actions", "Open f&ile…"), "Ctrl+Alt+O",
           lambda c: c.opening.choose_file()),
    Action("openHub", FILE, QT_TRANSLATE_NOOP("actions", "Open from &hub…"), "Ctrl+Shift+O",
           lambda c: c.opening.choose_hub()),
    Action("compareFolder", FILE, QT_TRANSLATE_NOOP("actions", "&Compare with a folder…"), "Ctrl+D",
           lambda c: c.comparing.choose_folder()),
    Action("compareFile", FILE, QT_TRANSLATE_NOOP("actions", "Co&mpare with a file…"), "",
           lambda c: c.comparing.choose_file()),
    Action("exportPdf", FILE, QT_TRANSLATE_NOOP("actions", "&Export report as PDF…"), "Ctrl+E",
           lambda c: c.choose_report()),
    Action("exportModules", FILE, QT_TRANSLATE_NOOP("actions", "Export modules as CS&V…"), "",
           lambda c: c.choose_modules()),
    Action("quit", FILE, QT_TRANSLATE_NOOP("actions", "&Quit"), "Ctrl+Q", lambda c: c.close()),
    Action("focusFilter", VIEW, QT_TRANSLATE_NOOP("actions", "&Filter modules"), "Ctrl+F",
           lambda c: c.focus_filter()),
    Action("focusSentence", VIEW, QT_TRANSLATE_NOOP("actions", "Edit the &sentence"), "Ctrl+L",
           lambda c: c.focus_sentence()),
    Action("runSentence", RUN, QT_TRANSLATE_NOOP("actions", "&Run the sentence"), "Ctrl+R",
           lambda c: c.run()),
    Action("cancel", RUN, QT_TRANSLATE_NOOP("actions", "&Cancel"), "Ctrl+.",
           lambda c: c.cancel()),
    Action("keepAsA", RUN, QT_TRANSLATE_NOOP("actions", "&Keep this run as A"), "Ctrl+K",
           lambda c: c.keep_run()),
    Action("enlargeViews", VIEW, QT_TRANSLATE_NOOP("actions", "&Enlarge the run's views"),
           "Ctrl+M", lambda c: c.enlarge_views()),
    Action("about", HELP, QT_TRANSLATE_NOOP("actions", "&About bertviewer"), "",
           lambda c: c.show_about()),
)  # fmt: skip

NEEDS_A_MODEL = ("compareFolder", "compareFile", "exportPdf", "exportModules", "runSentence")
DISABLED_AT_FIRST = (*NEEDS_A_MODEL, "cancel", "keepAsA", "enlargeViews")


class Menus:
    """The window's menu bar, filled from the table."""

    def __init__(self, window: QMainWindow, commands: Commands) -> None:
        bar = window.menuBar()
        menus = {title: bar.addMenu(_translated(title)) for title in (FILE, VIEW, RUN, HELP)}
        self.all = tuple(menus.values())
        self._actions: dict[str, QAction] = {}
        presets = _add_presets(menus[FILE], commands)
        for action in ACTIONS:
            made = menus[action.menu].addAction(_translated(action.title))
            made.setObjectName(action.name)
            made.setShortcut(QKeySequence(action.shortcut))
            made.triggered.connect(lambda _=False, call=action.call: call(commands))
            self._actions[action.name] = made
            # Keys of a menu bar that is out of sight do nothing.
            window.addAction(made)
        self._recent = QMenu(_translated(QT_TRANSLATE_NOOP("actions", "Open &recent")), window)
        self._recent.setObjectName("openRecent")
        menus[FILE].insertMenu(self._actions["compareFolder"], self._recent)
        self._opening = commands.opening
        # Whether there is anything to choose is known when the menu above comes up.
        menus[FILE].aboutToShow.connect(self._show_recent)
        heads = QMenu(_translated(QT_TRANSLATE_NOOP("actions", "&Head")), window)
        menus[FILE].insertMenu(self._actions["compareFolder"], heads)
        self._tasks = _add_choices(heads, TASK_CHOICES, commands.set_task)
        opening = [self._actions[name] for name in ("openFolder", "openFile", "openHub")]
        self.models = QMenu(window)
        """What there is to open: other models, and other heads of the one that is open."""
        self.models.addActions([presets.menuAction(), self._recent.menuAction(), *opening])
        self.models.addSeparator()
        self.models.addMenu(heads)
        self.models.aboutToShow.connect(self._show_recent)
        menus[VIEW].addSeparator()
        looks = menus[VIEW].addMenu(_translated(QT_TRANSLATE_NOOP("actions", "&Appearance")))
        self._appearances = _add_choices(looks, APPEARANCE_CHOICES, commands.set_appearance)
        menus[RUN].addSeparator()
        self._devices = menus[RUN].addMenu(_translated(QT_TRANSLATE_NOOP("actions", "&Device")))
        self._choose_device = commands.set_device
        self.show_devices((), "")
        for name in DISABLED_AT_FIRST:
            self.enable(name, False)

    def enable(self, name: str, enabled: bool) -> None:
        """Let an action of the table be chosen, or not."""
        self._actions[name].setEnabled(enabled)

    def show_devices(self, devices: Sequence[Device], chosen: str) -> None:
        """Offer these devices, of which one is marked."""
        self._devices.clear()
        choices = tuple((device.name, device.title) for device in devices)
        made = _add_choices(self._devices, choices, self._choose_device)
        if chosen in made:
            made[chosen].setChecked(True)
        self._devices.setEnabled(bool(made))

    def check_task(self, name: str) -> None:
        """Mark the head that is open."""
        self._tasks[name].setChecked(True)

    def check_appearance(self, name: str) -> None:
        """Mark the appearance that is in use."""
        self._appearances[name].setChecked(True)

    def _show_recent(self) -> None:
        self._recent.clear()
        for name, is_there in self._opening.recent:
            title = self._recent.fontMetrics().elidedText(
                name, Qt.TextElideMode.ElideMiddle, RECENT_WIDTH
            )
            if not is_there:
                title = _translated(_GONE).format(title)
            action = self._recent.addAction(title.replace("&", "&&"))
            action.setData(name)
            action.triggered.connect(lambda _=False, name=name: self._opening.open_recent(name))
        self._recent.setEnabled(not self._recent.isEmpty())


RECENT_WIDTH = 480  # pixels
_GONE = QT_TRANSLATE_NOOP("actions", "{0} (not found)")
TASK_CHOICES = tuple((task.name, task.title) for task in TASKS)
APPEARANCE_CHOICES = (
    (SYSTEM, QT_TRANSLATE_NOOP("actions", "As the system")),
    (LIGHT_NAME, QT_TRANSLATE_NOOP("actions", "Light")),
    (DARK_NAME, QT_TRANSLATE_NOOP("actions", "Dark")),
)


def _add_presets(menu: QMenu, commands: Commands) -> QMenu:
    presets = menu.addMenu(_translated(QT_TRANSLATE_NOOP("actions", "Open &model")))
    for name in ("demo", *preset_names()):
        action = presets.addAction(name)
        action.triggered.connect(lambda _=False, name=name: commands.opening.open_named(name))
    return presets


def _add_choices(
    menu: QMenu, choices: tuple[tuple[str, str], ...], call: Callable[[str], None]
) -> dict[str, QAction]:
    """Add choices of which one is marked, and return their actions by name."""
    group = QActionGroup(menu)
    made = {}
    for name, title in choices:
        action = group.addAction(menu.addAction(_translated(title)))
        action.setObjectName(name)
        action.setCheckable(True)
        action.triggered.connect(lambda _=False, name=name: call(name))
        made[name] = action
    return made


def _translated(text: str) -> str:
    return translate("actions", text)
