"""Notes that are true of some configurations only, with the condition that each needs."""

from collections.abc import Callable

from bertviewer.core.formulas.module_view import ModuleView

Condition = Callable[[ModuleView], bool]


class Note(str):
    """A note in plain words that states a fact, and when it does: a text like any other note.

    Of several wordings of one matter each has its own condition. ``formula_of`` leaves out those
    that do not hold for the module at hand.
    """

    __slots__ = ("holds",)
    holds: Condition

    def __new__(cls, text: str, holds: Condition) -> "Note":
        """Return ``text`` with the condition that it needs to be true."""
        note = super().__new__(cls, text)
        note.holds = holds
        return note


def true_notes(notes: tuple[str, ...], view: ModuleView) -> tuple[str, ...]:
    """Return those that hold, as plain text; a note without a condition always does."""
    return tuple(str(note) for note in notes if not isinstance(note, Note) or note.holds(view))


def no(condition: Condition) -> Condition:
    """Return the condition that another one does not hold."""
    return lambda view: not condition(view)
