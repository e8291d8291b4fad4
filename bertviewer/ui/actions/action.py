"""Actions of the window as records: what menus, palette, shortcuts and tooltips are made of."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from PySide6.QtGui import QKeySequence

from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace

NUMBERED = 9
"""Options of a choice that have a shortcut."""


class Condition(Struct, frozen=True):
    """When something can be done, and what its tooltip says otherwise."""

    holds: Callable[[Workspace], bool]
    reason: str


MODEL = Condition(
    lambda w: w.architecture is not None, QT_TRANSLATE_NOOP("actions", "No model is open")
)
IDLE = Condition(
    lambda w: not w.jobs.activity,
    QT_TRANSLATE_NOOP("actions", "Another task is running. Wait for it or cancel it"),
)
BUSY = Condition(
    lambda w: bool(w.jobs.activity), QT_TRANSLATE_NOOP("actions", "No task is running")
)
RAN = Condition(
    lambda w: w.runs.run is not None, QT_TRANSLATE_NOOP("actions", "No sentence has been run yet")
)


class Action(Struct, frozen=True):
    """A command.

    Attributes:
        name: object name of its ``QAction``.
        menu: title of its menu.
        title: its text, with an ampersand before the mnemonic.
        call: what it does.
        keys: its shortcuts; the first one is shown.
        tip: its tooltip, where the title does not say everything.
        needs: the conditions under which it is enabled.
        begins_group: whether there is a separator above it.
    """

    name: str
    menu: str
    title: str
    call: Callable[[], object]
    keys: tuple[str, ...] = ()
    tip: str = ""
    needs: tuple[Condition, ...] = ()
    begins_group: bool = False

    @property
    def shortcut(self) -> str:
        """Its first shortcut as this system writes it; "" if it has none."""
        return native_keys(self.keys[0]) if self.keys else ""

    @property
    def tooltip(self) -> str:
        """What it does, and its shortcut."""
        tip = self.tip or plain_title(self)
        return f"{tip} ({self.shortcut})" if self.keys else tip


class Option(Struct, frozen=True):
    """An option of a choice: its name and its text."""

    name: str
    title: str


class Choice(Struct, frozen=True):
    """A submenu of options.

    Attributes:
        name: its object name.
        menu: title of the menu above it.
        title: its text, with an ampersand before the mnemonic.
        options: returns the options.
        choose: chooses the option of a name.
        chosen: returns the name of the option that is checked; ``None`` where none ever is.
        needs: the conditions under which it is enabled.
        opens: whether its options are models to open.
        compares: whether its options are models to compare.
        is_slow: whether the options are listed only when the menu is shown.
        begins_group: whether there is a separator above it.
        keys: modifier of the shortcuts of its first options; with 1 for the first one.
    """

    name: str
    menu: str
    title: str
    options: Callable[[], Sequence[Option]]
    choose: Callable[[str], object]
    chosen: Callable[[], str] | None = None
    needs: tuple[Condition, ...] = ()
    opens: bool = False
    compares: bool = False
    is_slow: bool = False
    begins_group: bool = False
    keys: str = ""

    def option_keys(self, number: int) -> str:
        """Return the shortcut of an option by its position, "" if it has none."""
        return f"{self.keys}+{number + 1}" if self.keys and number < NUMBERED else ""


Entry = Action | Choice


def disabled_reason(entry: Entry, workspace: Workspace) -> str:
    """Return why something cannot be done now, "" if it can."""
    reasons = (each.reason for each in entry.needs if not each.holds(workspace))
    return next((translate("actions", reason) for reason in reasons), "")


def plain_title(entry: Entry) -> str:
    """Return the text of an entry without mnemonic and ellipsis."""
    return entry.title.replace("&", "").removesuffix("…")


def native_keys(keys: str) -> str:
    """Return a shortcut as this system writes it."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
