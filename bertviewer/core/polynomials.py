"""Sums of products of letters, written the way a teacher writes a parameter count."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from bertviewer.core.symbols import letter_order

Monomial = tuple[tuple[str, int], ...]
"""Letters with their powers, none of them 0, in the order of ``letter_order``: D**2*I."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of terms; a negative power is a division that comes out even: ``A_kv*D//A``.

    ``terms`` holds no zero coefficient, and keeps the order in which terms were first met.
    """

    terms: Mapping[Monomial, Fraction]

    @classmethod
    def constant(cls, value: int) -> "Polynomial":
        """Return the polynomial that is a plain number."""
        return cls({(): Fraction(value)} if value else {})

    @classmethod
    def term(cls, coefficient: Fraction, powers: Mapping[str, int]) -> "Polynomial":
        """Return one coefficient times letters with their powers."""
        return cls({_monomial(powers): coefficient} if coefficient else {})

    @property
    def letters(self) -> frozenset[str]:
        """The letters in it."""
        return frozenset(letter for letters in self.terms for letter, _ in letters)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: "Polynomial") -> "Polynomial":
        return total((self, other))

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return self + Polynomial({letters: -value for letters, value in other.terms.items()})

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        return total(
            Polynomial({_times(ours, theirs): a * b})
            for ours, a in self.terms.items()
            for theirs, b in other.terms.items()
        )

    def __str__(self) -> str:
        """Write it as Python reads it: highest degree first, then as first met."""
        ordered = sorted(self.terms.items(), key=lambda term: -_degree(term[0]))
        return join_terms(_term_text(letters, value) for letters, value in ordered)


def total(polynomials: Iterable[Polynomial]) -> Polynomial:
    """Return the sum; terms keep the order in which they are first met."""
    terms: dict[Monomial, Fraction] = {}
    for polynomial in polynomials:
        for letters, value in polynomial.terms.items():
            terms[letters] = terms.get(letters, Fraction(0)) + value
    return Polynomial({letters: value for letters, value in terms.items() if value})


def join_terms(texts: Iterable[str]) -> str:
    """Write texts as one sum, a leading minus as a subtraction; nothing at all is ``0``."""
    return " + ".join(texts).replace("+ -", "- ") or "0"


def bracketed(text: str) -> str:
    """Return the text so that it can be a factor: in brackets if it is a sum."""
    outside = text
    while (inner := re.sub(r"\([^()]*\)", "", outside)) != outside:
        outside = inner
    return f"({text})" if " " in outside else text


def _monomial(powers: Mapping[str, int]) -> Monomial:
    return tuple(
        (letter, powers[letter]) for letter in sorted(powers, key=letter_order) if powers[letter]
    )


def _times(ours: Monomial, theirs: Monomial) -> Monomial:
    powers = dict(ours)
    for letter, power in theirs:
        powers[letter] = powers.get(letter, 0) + power
    return _monomial(powers)


def _degree(letters: Monomial) -> int:
    return sum(power for _, power in letters)


def _term_text(letters: Monomial, coefficient: Fraction) -> str:
    """Write one term: all factors first and one division last, so that it comes out even."""
    above = [_power_text(letter, power) for letter, power in letters if power > 0]
    below = [_power_text(letter, -power) for letter, power in letters if power < 0]
    number = abs(coefficient.numerator)
    if number != 1 or not above:
        above.insert(0, str(number))
    if coefficient.denominator != 1:
        below.insert(0, str(coefficient.denominator))
    text = ("-" if coefficient < 0 else "") + "*".join(above)
    if not below:
        return text
    return f"{text}//({'*'.join(below)})" if len(below) > 1 else f"{text}//{below[0]}"


def _power_text(letter: str, power: int) -> str:
    return letter if power == 1 else f"{letter}**{power}"


def fit(
    size: int, values: Mapping[str, int], seen: Mapping[str, tuple[tuple[int, int], ...]]
) -> Polynomial | None:
    """Find how one size follows from the letters' values.

    Args:
        size: the size at ``values``.
        values: the letters' values where nothing was changed.
        seen: for each letter, pairs of a changed value and the size with that value alone changed.

    Returns:
        A product such as ``3*D`` or ``A*K``, else a sum such as ``L + 2``, or ``None`` where
        neither goes through all that was seen. It holds where it was seen; proof is another matter.
    """
    moving = {
        letter: points
        for letter, points in seen.items()
        if any(changed != size for _, changed in points)
    }
    product = _fit_product(size, values, moving)
    return product if product is not None else _fit_sum(size, values, moving)


def _fit_product(
    size: int, values: Mapping[str, int], moving: Mapping[str, tuple[tuple[int, int], ...]]
) -> Polynomial | None:
    coefficient = Fraction(size)
    powers = {}
    for letter, points in moving.items():
        value = values[letter]
        if all(changed * value == size * point for point, changed in points):
            powers[letter] = 1
            coefficient /= value
        elif all(changed * point == size * value for point, changed in points):
            powers[letter] = -1
            coefficient *= value
        else:
            return None
    return Polynomial.term(coefficient, powers)


def _fit_sum(
    size: int, values: Mapping[str, int], moving: Mapping[str, tuple[tuple[int, int], ...]]
) -> Polynomial | None:
    terms = []
    rest = Fraction(size)
    for letter, points in moving.items():
        slopes = {Fraction(changed - size, point - values[letter]) for point, changed in points}
        if len(slopes) != 1:
            return None
        slope = slopes.pop()
        terms.append(Polynomial.term(slope, {letter: 1}))
        rest -= slope * values[letter]
    if rest.denominator != 1:
        return None
    return total((*terms, Polynomial.constant(int(rest))))
