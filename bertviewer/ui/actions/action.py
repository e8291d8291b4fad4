"""What an action of the window is: one record for menu, palette, keys, tip and condition."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct
from PySide6.QtGui import QKeySequence

from bertviewer.ui.docks.panes import Panes
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace


class Opens(Protocol):
    """What the actions call to open a model."""

    @property
    def recent(self) -> Sequence[tuple[str, bool]]: ...  # noqa: D102
    def open_named(self, name: str) -> None: ...  # noqa: D102
    def open_recent(self, name: str) -> None: ...  # noqa: D102
    def open_again(self) -> None: ...  # noqa: D102
    def choose_folder(self) -> None: ...  # noqa: D102
    def choose_file(self) -> None: ...  # noqa: D102
    def choose_hub(self, use: Callable[[str], None] | None = None) -> None: ...  # noqa: D102


class Compares(Protocol):
    """What the actions call to compare the open model."""

    def choose_folder(self) -> None: ...  # noqa: D102
    def choose_file(self) -> None: ...  # noqa: D102
    def compare_with(self, name: str) -> None: ...  # noqa: D102


class Corpora(Protocol):
    """What the actions call to run many sentences."""

    def open_dialog(self) -> None: ...  # noqa: D102


class Opened(Protocol):
    """What the actions call to open something over the window."""

    def open(self, typed: str = "") -> None: ...  # noqa: D102


class Exports(Protocol):
    """What the actions call to take along what is open."""

    def choose_report(self) -> None: ...  # noqa: D102
    def choose_modules(self) -> None: ...  # noqa: D102
    def choose_runs(self) -> None: ...  # noqa: D102


class Commands(Protocol):
    """What the actions call: the main window."""

    @property
    def workspace(self) -> Workspace: ...  # noqa: D102
    @property
    def opening(self) -> Opens: ...  # noqa: D102
    @property
    def comparing(self) -> Compares: ...  # noqa: D102
    @property
    def corpora(self) -> Corpora: ...  # noqa: D102
    @property
    def exporting(self) -> Exports: ...  # noqa: D102
    @property
    def panes(self) -> Panes: ...  # noqa: D102
    @property
    def finder(self) -> Opened: ...  # noqa: D102
    def show_welcome(self) -> None: ...  # noqa: D102
    def step_text_size(self, step: int) -> None: ...  # noqa: D102
    def set_appearance(self, name: str) -> None: ...  # noqa: D102
    def set_device(self, name: str) -> None: ...  # noqa: D102
    def run(self) -> None: ...  # noqa: D102
    def focus(self, name: str) -> None: ...  # noqa: D102
    def show_guide(self, address: str = "") -> None: ...  # noqa: D102
    def show_about(self) -> None: ...  # noqa: D102
    def close(self) -> bool: ...  # noqa: D102


class Condition(Struct, frozen=True):
    """When something can be done, and what is said where it cannot."""

    holds: Callable[[Workspace], bool]
    reason: str


MODEL = Condition(
    lambda w: w.architecture is not None, QT_TRANSLATE_NOOP("actions", "No model is open")
)
IDLE = Condition(
    lambda w: not w.scheduler.activity,
    QT_TRANSLATE_NOOP("actions", "Another task is running. Wait for it or cancel it"),
)
BUSY = Condition(
    lambda w: bool(w.scheduler.activity), QT_TRANSLATE_NOOP("actions", "No task is running")
)
RAN = Condition(
    lambda w: w.runs.run is not None, QT_TRANSLATE_NOOP("actions", "No sentence has been run yet")
)


class Action(Struct, frozen=True):
    """Something to do.

    Attributes:
        name: its object name.
        menu: the title of the menu that it stands in.
        title: what it is called there, with an ampersand before the letter that chooses it.
        call: what it does.
        keys: by which keys it is done; the first of them is shown.
        tip: what it does in a sentence, where its title does not say all.
        needs: what has to be so for it.
        begins_group: whether a line parts it from what stands above.
        tab: the title of the tab that its own title names in place of ``{0}``.
    """

    name: str
    menu: str
    title: str
    call: Callable[[Commands], object]
    keys: tuple[str, ...] = ()
    tip: str = ""
    needs: tuple[Condition, ...] = ()
    begins_group: bool = False
    tab: str = ""


class Option(Struct, frozen=True):
    """One of the things that can be chosen, by its name and what it is called."""

    name: str
    title: str


class Choice(Struct, frozen=True):
    """A menu of things of which one is chosen.

    Attributes:
        name: its object name.
        menu: the title of the menu that it stands in.
        title: what it is called there.
        options: what there is to choose now.
        choose: what choosing one does.
        chosen: the name of the one that is marked; ``None`` where none is, as to open a model.
        needs: what has to be so for it.
        opens: whether choosing one opens a model.
        compares: whether choosing one compares a model.
        is_slow: whether the options are only asked for when the menu comes up.
        begins_group: whether a line parts it from what stands above.
        keys: what is held down with the number of an option, from 1 to 9, to choose that one.
    """

    name: str
    menu: str
    title: str
    options: Callable[[Commands], Sequence[Option]]
    choose: Callable[[Commands, str], object]
    chosen: Callable[[Commands], str] | None = None
    needs: tuple[Condition, ...] = ()
    opens: bool = False
    compares: bool = False
    is_slow: bool = False
    begins_group: bool = False
    keys: str = ""


Entry = Action | Choice
COMMANDS, TENSORS, TOKENS, SETTINGS, HELP = ">", "#", "@", ":", "?"
"""First characters of a search that find one kind of thing alone."""

NUMBERED = 9
"""Options that have keys."""


def why_not(entry: Entry, workspace: Workspace) -> str:
    """Return why something cannot be done now, "" if it can."""
    lacking = (each.reason for each in entry.needs if not each.holds(workspace))
    return next((translate("actions", reason) for reason in lacking), "")


def title_of(entry: Entry) -> str:
    """Return what something is called in a menu."""
    tab = translate("tabs", entry.tab) if isinstance(entry, Action) and entry.tab else ""
    return translate("actions", entry.title).replace("{0}", tab)


def plain_title(entry: Entry) -> str:
    """Return what something is called where no letter chooses it and no dialog is promised."""
    return title_of(entry).replace("&", "").removesuffix("…")


def keys_of(entry: Entry) -> str:
    """Return the keys that do it, as this system writes them; "" if there are none."""
    return written_keys(entry.keys[0]) if isinstance(entry, Action) and entry.keys else ""


def option_keys(choice: Choice, place: int) -> str:
    """Return the keys that choose the option at a place, "" if there are none."""
    return f"{choice.keys}+{place + 1}" if choice.keys and place < NUMBERED else ""


def shortcut_keys(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield all keys by which something in a table of actions is done or chosen."""
    for entry in entries:
        if isinstance(entry, Action):
            yield from entry.keys
        elif entry.keys:
            yield from (option_keys(entry, place) for place in range(NUMBERED))


def written_keys(keys: str) -> str:
    """Return keys as this system writes them."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def tip_of(entry: Action) -> str:
    """Return what an action does, and by which keys."""
    tip = translate("actions", entry.tip) if entry.tip else plain_title(entry)
    keys = keys_of(entry)
    return f"{tip} ({keys})" if keys else tip
