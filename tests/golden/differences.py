"""Compares records, and gathers what differs in the same way."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct, field

from tests.golden.texts import Sections

_FIGURE = re.compile(r"[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?", re.IGNORECASE)
_CLOSE = 5e-5
_SMALL, _NONE = 1e-5, 1e-6
"""Figures below the first are rounding errors: their order of magnitude counts. Below the second
not even that does."""
_LAYERS = re.compile(r"(?<=[.\[ ])\d+(?=[.\]:/ ]|$)")
"""The numbers of layers in a path: the same difference in each of them is one."""
_NOISY = ("run", "report", "compare")
"""Kinds whose figures come from sums of floats, of which the last digits may differ."""


class Change(Struct, frozen=True):
    """What differs in a section: the lines of a unified diff without the header."""

    kind: str
    model: str
    heading: str
    lines: tuple[str, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The lines that were taken away and added."""
        return tuple(line for line in self.lines if line[0] in "+-")

    @property
    def key(self) -> tuple[str, ...]:
        """What is equal for changes that are the same."""
        return (self.kind, *(_LAYERS.sub("#", line) for line in self.changed))


class Intention(Struct, frozen=True):
    """A reason, and what its differences look like."""

    reason: str
    patterns: tuple[re.Pattern[str], ...]


class Group(Struct):
    """The same difference, wherever it is found."""

    first: Change
    places: dict[str, list[str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The difference once, with the list of its models."""
        first = self.first
        head = f"=== {first.kind} of {first.model} / {first.heading}"
        total = sum(map(len, self.places.values()))
        if total > 1:
            listed = ", ".join(
                name if len(found) == 1 else f"{name} ({len(found)})"
                for name, found in self.places.items()
            )
            head += f"\n    the same at {total} places: {listed}"
        return "\n".join((head, *first.lines))


def changes(kind: str, model: str, old: Sections, new: Sections) -> Iterator[Change]:
    """Yield what differs between two records of a model."""
    for heading in dict.fromkeys((*old, *new)):
        before, after = old.get(heading), new.get(heading)
        if before == after:
            continue
        if before is None or after is None:
            sign, gone = ("+", after) if before is None else ("-", before)
            what = f"{sign}## {heading}"
            yield Change(kind, model, heading, (what, *(f"{sign}{line}" for line in gone or ())))
        elif lines := tuple(_diff(before, after, is_noisy=kind in _NOISY)):
            yield Change(kind, model, heading, lines)
    kept_old = [heading for heading in old if heading in new]
    kept_new = [heading for heading in new if heading in old]
    if kept_old != kept_new:
        diff = difflib.unified_diff(kept_old, kept_new, n=1, lineterm="")
        yield Change(kind, model, "order of the sections", tuple(list(diff)[2:]))


def _diff(before: Sequence[str], after: Sequence[str], *, is_noisy: bool) -> Iterator[str]:
    if is_noisy and len(before) == len(after):
        # Figures that are as good as equal are taken for equal.
        after = [a if _is_close(a, b) else b for a, b in zip(before, after, strict=True)]
    for line in islice(difflib.unified_diff(before, after, n=1, lineterm=""), 2, None):
        yield "…" if line.startswith("@@") else line


def _is_close(one: str, other: str) -> bool:
    """Tell whether two lines differ by nothing but the last digits of their figures."""
    if _FIGURE.sub("#", one) != _FIGURE.sub("#", other):
        return False
    figures = zip(_FIGURE.findall(one), _FIGURE.findall(other), strict=True)
    return all(a == b or _are_close(a, b) for a, b in figures)


def _are_close(one: str, other: str) -> bool:
    a, b = (float(text.replace("−", "-")) for text in (one, other))
    if "e" in f"{one}{other}".lower():
        small, large = sorted((abs(a), abs(b)))
        is_rough = large < _SMALL or one[:2] == other[:2] == "1e"
        if large < _NONE or (is_rough and large <= 11 * small):
            return True
    elif "." not in one:
        return False  # whole numbers are counts
    return abs(a - b) <= max(_CLOSE * max(abs(a), abs(b)), 2 * 10.0 ** -_decimals(one))


def _decimals(figure: str) -> int:
    """Return the place of a figure's last digit behind the point."""
    mantissa, _, exponent = figure.lower().replace("−", "-").partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)


def grouped(found: Iterable[Change]) -> list[Group]:
    """Gather changes that are the same."""
    groups: dict[tuple[str, ...], Group] = {}
    for change in found:
        group = groups.setdefault(change.key, Group(change))
        group.places.setdefault(change.model, []).append(change.heading)
    return list(groups.values())


def read_intended(text: str) -> list[Intention]:
    """Read a list of intended differences: a reason after ``#``, then regular expressions.

    Raises:
        ValueError: a pattern has no reason, or is none.
    """
    found: list[Intention] = []
    reason, patterns = "", list[re.Pattern[str]]()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            if patterns:
                found.append(Intention(reason, tuple(patterns)))
                reason, patterns = "", []
            reason = f"{reason} {line.lstrip('# ')}".strip()
        elif line.strip():
            if not reason:
                raise ValueError(f"line {number}: a line with '#' and the reason has to come first")
            try:
                patterns.append(re.compile(line))
            except re.error as error:
                raise ValueError(f"line {number}: {error}") from error
    if patterns:
        found.append(Intention(reason, tuple(patterns)))
    return found


def reason_for(change: Change, intended: Sequence[Intention]) -> str | None:
    """Return why a change is intended, ``None`` if it is not: each of its lines has to be.

    A pattern is searched in ``KIND MODEL / HEADING: -LINE``.
    """
    reasons: list[str] = []
    place = f"{change.kind} {change.model} / {change.heading}"
    for line in change.changed:
        text = f"{place}: {line}"
        for intention in intended:
            if any(pattern.search(text) for pattern in intention.patterns):
                reasons.append(intention.reason)
                break
        else:
            return None
    return reasons[0] if reasons else None
