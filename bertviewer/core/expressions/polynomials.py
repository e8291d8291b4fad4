"""Sums of products of letters, written the way a teacher writes a parameter count.

sympy takes 4.5 times as long for what deriving bert-base needs, 0.6 s to be imported, and knows
neither divisions that come out even nor the order of terms.
"""

import operator
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from math import lcm, prod
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from bertviewer.core.expressions.evaluation import FormulaError, program
from bertviewer.core.expressions.letters import letter_order

Monomial = tuple[tuple[str, int], ...]
"""Letters with their powers, none of them 0, in the order of ``letter_order``: D**2*I."""

ONE: Final = Fraction(1)


class Polynomial(Struct, frozen=True):
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

    def tidied(self) -> "Polynomial":
        """Return it with short terms first, and letters in their order among equally long ones."""
        order = sorted(
            self.terms, key=lambda letters: (len(letters), [letter_order(x) for x, _ in letters])
        )
        return Polynomial({letters: self.terms[letters] for letters in order})

    def at(self, values: Mapping[str, int]) -> Fraction:
        """Return its value, whether or not divisions come out even."""
        return sum(
            (
                coefficient * prod(Fraction(values[letter]) ** power for letter, power in letters)
                for letters, coefficient in self.terms.items()
            ),
            Fraction(0),
        )

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __neg__(self) -> "Polynomial":
        return Polynomial({letters: -value for letters, value in self.terms.items()})

    def __add__(self, other: "Polynomial") -> "Polynomial":
        return total((self, other))

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return self + -other

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        return total(
            Polynomial({_times(ours, theirs): a * b})
            for ours, a in self.terms.items()
            for theirs, b in other.terms.items()
        )

    def __floordiv__(self, other: "Polynomial") -> "Polynomial":
        return self * other**-1

    def __pow__(self, power: int) -> "Polynomial":
        if power >= 0:
            return product([self] * power)
        if len(self.terms) != 1:
            raise FormulaError(f"{self} is not a single term to divide by")
        ((letters, value),) = self.terms.items()
        inverse = Polynomial.term(1 / value, {letter: -power for letter, power in letters})
        return product([inverse] * -power)

    def __str__(self) -> str:
        """Write it as Python reads it: highest degree first, then as first met, a number last."""
        ordered = sorted(self.terms.items(), key=lambda term: (-_degree(term[0]), not term[0]))
        halves = [term for term in ordered if term[1].denominator != 1]
        if all(letters for letters, _ in halves):
            return join_terms(_term_text(letters, value) for letters, value in ordered)
        # A number alone does not come out even: (D - 1)//2.
        whole = lcm(*(value.denominator for _, value in halves))
        above = join_terms(_term_text(letters, value * whole) for letters, value in halves)
        rest = (_term_text(*term) for term in ordered if term not in halves)
        return join_terms((f"({above})//{whole}", *rest))


def polynomial_of(
    formula: str, values: Mapping[str, Polynomial] = MappingProxyType({})
) -> Polynomial:
    """Read a formula, without its brackets, and with polynomials in place of some letters.

    Raises:
        FormulaError: the text is not a formula, or divides by a sum.
    """
    stack: list[Polynomial] = []
    for step in program(formula):
        if isinstance(step, int):
            stack.append(Polynomial.constant(step))
        elif isinstance(step, str):
            stack.append(values[step] if step in values else Polynomial.term(ONE, {step: 1}))
        elif step is operator.neg:
            stack.append(-stack.pop())
        else:
            right = stack.pop()
            factor = int(right.at({})) if step is operator.pow else right
            result: Polynomial = step(stack.pop(), factor)
            stack.append(result)
    return stack[0]


def product(factors: Iterable[Polynomial]) -> Polynomial:
    """Return the product."""
    return reduce(operator.mul, factors, Polynomial.constant(1))


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
