"""A model's formulas put together: each module's is the sum of its parts', or there is none."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from math import prod

from bertviewer.core.counting.explaining import Explanation
from bertviewer.core.counting.proving import TENSOR, Formulas
from bertviewer.core.counting.variants import ModelShapes, owners
from bertviewer.core.expressions.counts import Count, read_count
from bertviewer.core.expressions.polynomials import Monomial, Polynomial, total
from bertviewer.core.frozen import frozen

Parts = tuple[str, ...]
"""The formulas of all that a module is made of, in order."""


@frozen
class ModelFormulas:
    """The formulas of one model, by the names of its tensors and modules.

    Attributes:
        proven: the formulas.
        conditions: what has to be met for them to hold; a module's hold those of all below it.
        reasons: why the others have none.
    """

    proven: Formulas
    conditions: Mapping[str, tuple[str, ...]]
    reasons: Mapping[str, str]


def put_together(
    real: ModelShapes, found: Sequence[Explanation], depths: Mapping[str, int]
) -> ModelFormulas:
    """Take each formula from the first explanation that has one, as long as all add up.

    Where a module's parts come from different explanations, its own is written anew, as their
    sum: the letters of a part are the letters of the whole.

    Args:
        real: the model.
        found: explanations, the likeliest first.
        depths: the letters of numbers of layers, with their values: a list of layers has as many
            as its formula says, and is their sum where these are put in.
    """
    sums = _Sums(depths)
    proven: dict[str, tuple[str, ...]] = {}
    conditions: dict[str, tuple[str, ...]] = {}
    reasons: dict[str, str] = {}
    for name in (TENSOR + name for name in real.shapes):
        at = _best(real, found, name)
        if at is None:
            reasons[name] = _reason(found, name)
        else:
            proven[name], conditions[name] = at.proven[name], at.conditions[name]
    below: dict[str, list[str]] = {path: [] for path in real.modules}
    for name in real.shapes:
        below[name.rpartition(".")[0]].append(TENSOR + name)
    for path in real.modules:
        if path:
            below[path.rpartition(".")[0]].append(path)
    # Children stand after their parents in named_modules, so from the end they come first.
    for path in reversed(real.modules):
        at = _best(real, found, path)
        if at is None or any(part not in proven for part in below[path]):
            reasons[path] = _reason(found, path)
            continue
        parts = tuple(
            _product(proven[part]) if part.startswith(TENSOR) else proven[part][0]
            for part in below[path]
            if part.removeprefix(TENSOR) not in real.first_names
        )
        formula = sums.formula(at.proven[path][0], parts, is_list=path in real.lengths)
        if formula is None:
            reasons[path] = "its formula is not the sum of the formulas of its parts"
            continue
        proven[path] = (formula,)
        conditions[path] = _together(
            at.conditions[path], *(conditions[part] for part in below[path])
        )
    return ModelFormulas(proven, conditions, reasons)


def _best(real: ModelShapes, found: Sequence[Explanation], name: str) -> Explanation | None:
    """Return the first explanation of a name that explains the lists around it as well."""
    known = [one for one in found if name in one.proven]
    lists = [path for path in owners(name.removeprefix(TENSOR)) if path in real.lengths]
    return next((one for one in known if all(path in one.proven for path in lists)), None) or (
        known[0] if known else None
    )


def _reason(found: Sequence[Explanation], name: str) -> str:
    reasons = (one.reasons[name] for one in reversed(found) if name in one.reasons)
    return next(reasons, "a part of it has no formula")


def _product(shape: tuple[str, ...]) -> str:
    return "*".join(f"({size})" for size in shape) or "1"


def _together(*conditions: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for some in conditions for text in some))


@frozen
class _Sums:
    """Adds up formulas, each text read once."""

    depths: Mapping[str, int]
    _read: dict[str, Count] = field(default_factory=dict)
    _known: dict[tuple[str, Parts, bool], str | None] = field(default_factory=dict)

    def formula(self, formula: str, parts: Parts, *, is_list: bool) -> str | None:
        """Return the formula if it is the sum of its parts, or the sum; ``None`` if they differ."""
        key = formula, parts, is_list
        if key not in self._known:
            self._known[key] = self._formula(formula, parts, is_list=is_list)
        return self._known[key]

    def _formula(self, formula: str, parts: Parts, *, is_list: bool) -> str | None:
        whole = self._count(formula).value
        counts = [self._count(part) for part in parts]
        together = total(count.value for count in counts)
        if whole == together:
            return formula
        if self._at_depths(whole) != self._at_depths(together):
            return None
        if is_list and self._follows_depth(whole, together):
            return formula
        return str(Count.of(part for count in counts for part in count.parts))

    def _follows_depth(self, whole: Polynomial, together: Polynomial) -> bool:
        """Tell whether the whole has a depth beyond those that its parts have."""
        return bool((whole.letters - together.letters) & self.depths.keys())

    def _at_depths(self, polynomial: Polynomial) -> Polynomial:
        """Return a polynomial with all depths put in."""
        terms = (
            Polynomial.term(
                value * self._depth(letters),
                {letter: power for letter, power in letters if letter not in self.depths},
            )
            for letters, value in polynomial.terms.items()
        )
        return total(terms)

    def _depth(self, letters: Monomial) -> Fraction:
        depths = (Fraction(self.depths[x]) ** power for x, power in letters if x in self.depths)
        return prod(depths, start=Fraction(1))

    def _count(self, text: str) -> Count:
        if text not in self._read:
            self._read[text] = read_count(text)
        return self._read[text]
