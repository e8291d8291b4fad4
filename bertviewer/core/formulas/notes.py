"""Notes that are true of some configurations only, with the condition that each needs."""

from collections.abc import Callable, Mapping

from bertviewer.core.formulas.module_view import ModuleView

Condition = Callable[[ModuleView], bool]


class Note(str):
    """A note in plain words that states a fact, and when it does: a text like any other note.

    Of several wordings of one matter each has its own condition: a question about the module, or
    the name of a value of the match that must be true, ``not NAME`` for one that must be false.
    A template leaves out those that do not hold for the module at hand.
    """

    __slots__ = ("when",)
    when: Condition | str

    def __new__(cls, text: str, when: Condition | str) -> "Note":
        """Return ``text`` with the condition that it needs to be true."""
        note = super().__new__(cls, text)
        note.when = when
        return note

    def holds(self, view: ModuleView, values: Mapping[str, object]) -> bool:
        """Return whether the note is true of a module with these values of its match."""
        if not isinstance(self.when, str):
            return self.when(view)
        name = self.when.removeprefix("not ")
        return bool(values.get(name)) == (name == self.when)


def no(condition: Condition) -> Condition:
    """Return the condition that another one does not hold."""
    return lambda view: not condition(view)
