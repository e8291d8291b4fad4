"""What a filter of modules asks for: terms, each of which a module fits or not. Without Qt."""

from typing import Protocol

from msgspec import Struct


class Subject(Protocol):
    """What terms see of a module; what is not known of it is ``None``, and fits no term."""

    @property
    def text(self) -> str: ...  # noqa: D102  path and class, case folded
    def written(self, key: str) -> str | None: ...  # noqa: D102
    def number(self, key: str) -> float | None: ...  # noqa: D102
    def sizes(self, key: str) -> tuple[str, ...] | None: ...  # noqa: D102
    def truth(self, key: str) -> bool | None: ...  # noqa: D102


class Words(Struct, frozen=True):
    """A text that is in the path or in the class; upper and lower case are the same."""

    text: str

    def fits(self, subject: Subject) -> bool:
        """Return whether a module has it."""
        return self.text in subject.text


class Written(Struct, frozen=True):
    """A text in one of a module's texts, or, if it ``is_whole``, all of it."""

    key: str
    text: str
    is_whole: bool = False

    def fits(self, subject: Subject) -> bool:
        """Return whether a module has it."""
        found = (subject.written(self.key) or "").casefold()
        return found == self.text if self.is_whole else self.text in found


class Within(Struct, frozen=True):
    """A number from ``low`` to ``high``; where it is ``open``, neither of the two."""

    key: str
    low: float
    high: float
    is_open: bool = False

    def fits(self, subject: Subject) -> bool:
        """Return whether a module's number is within."""
        number = subject.number(self.key)
        if number is None:
            return False
        if self.is_open:
            return self.low < number < self.high
        return self.low <= number <= self.high


class Sizes(Struct, frozen=True):
    """Sizes that stand beside one another in a shape, in this order."""

    key: str
    sizes: tuple[str, ...]

    def fits(self, subject: Subject) -> bool:
        """Return whether a module's shape has them."""
        shape, count = subject.sizes(self.key) or (), len(self.sizes)
        return any(
            shape[start : start + count] == self.sizes for start in range(len(shape) - count + 1)
        )


class Truth(Struct, frozen=True):
    """Something that is so, or is not."""

    key: str
    is_so: bool

    def fits(self, subject: Subject) -> bool:
        """Return whether that is known of a module."""
        return subject.truth(self.key) is self.is_so


class Not(Struct, frozen=True):
    """What does not fit another term."""

    term: "Term"

    def fits(self, subject: Subject) -> bool:
        """Return whether a module does not fit."""
        return not self.term.fits(subject)


Term = Words | Written | Within | Sizes | Truth | Not


class TreeFilter(Struct, frozen=True):
    """Terms that a module has to fit all of, and what of the text was not understood.

    ``unclear`` is one line, empty where all was understood; the other terms hold all the same.
    """

    terms: tuple[Term, ...] = ()
    unclear: str = ""

    def fits(self, subject: Subject) -> bool:
        """Return whether a module fits all terms."""
        return all(term.fits(subject) for term in self.terms)

    @property
    def hangs_on_figures(self) -> bool:
        """Whether what fits may be others once costs are derived, or after another run."""
        return any(_key(term) not in ("", "class", "name", "path", "part") for term in self.terms)

    def marks(self, key: str) -> tuple[str, ...]:
        """Return what is to be marked in a module's ``name`` or ``class``, case folded."""
        keys = ("name", "path") if key == "name" else (key,)
        found = (
            term.text
            for term in self.terms
            if isinstance(term, Words) or (isinstance(term, Written) and term.key in keys)
        )
        return tuple(text for text in found if text)


def _key(term: Term) -> str:
    if isinstance(term, Not):
        return _key(term.term)
    return "" if isinstance(term, Words) else term.key
