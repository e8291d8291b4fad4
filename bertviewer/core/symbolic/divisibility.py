"""Divisions that have to come out even: the conditions that they put on the letters.

A model rounds each division by itself, as ``(image_size // patch_size)**2`` patches. A formula
says the same where nothing is left over, which is a condition on the letters that are divided.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm

from bertviewer.core.expressions.polynomials import Monomial, Polynomial
from bertviewer.core.expressions.symbols import Symbol, is_width


def even_conditions(
    polynomial: Polynomial, values: Mapping[str, int], symbols: Mapping[str, Symbol]
) -> tuple[str, ...]:
    """Return what has to be divisible by what for a sum's divisions to come out even.

    Args:
        polynomial: the sum.
        values: the symbols' values in a model; what is divided is looked for among the letters
            that are divisible there, a hidden state's width first.
        symbols: by letter.
    """
    if polynomial.terms.get((), Fraction(0)).denominator != 1:
        # A number alone does not come out even: (D - 1)//2.
        whole = lcm(*(value.denominator for value in polynomial.terms.values()))
        above = Polynomial({letters: value * whole for letters, value in polynomial.terms.items()})
        return (f"({above}) % {whole} == 0",)
    conditions: dict[str, None] = {}
    for letters, coefficient in polynomial.terms.items():
        conditions |= dict.fromkeys(_of_term(letters, coefficient, values, symbols))
    return tuple(conditions)


def of_shapes(
    shapes: Mapping[str, Sequence[Polynomial]], symbols: Iterable[Symbol]
) -> dict[str, tuple[str, ...]]:
    """Return what has to be divisible by what, by the names of the shapes."""
    by_letter = {symbol.letter: symbol for symbol in symbols}
    values = {letter: symbol.value for letter, symbol in by_letter.items()}
    return {
        name: tuple(
            condition
            for dimension in shape
            for condition in even_conditions(dimension, values, by_letter)
        )
        for name, shape in shapes.items()
    }


def _of_term(
    letters: Monomial,
    coefficient: Fraction,
    values: Mapping[str, int],
    symbols: Mapping[str, Symbol],
) -> Iterable[str]:
    """Find a separate factor for each divisor; where there is none, the whole product."""
    below: list[tuple[str, int, int]] = [
        (letter, values[letter], -power) for letter, power in letters if power < 0
    ]
    if coefficient.denominator != 1:
        below.append((str(coefficient.denominator), coefficient.denominator, 1))
    left = {letter: power for letter, power in letters if power > 0}
    found: list[str] = []
    for name, value, power in below:
        order = sorted(left, key=lambda x: x not in symbols or not is_width(symbols[x]))
        # An image's two sides are divided by a patch's, or one number by several in turn.
        for at_once, divisor in ((1, name), (power, f"({name}**{power})")):
            times = power // at_once
            factors = [
                letter
                for letter in order
                if left[letter] >= times and value and values[letter] % value**at_once == 0
            ]
            if factors:
                left[factors[0]] -= times
                found.append(f"{factors[0]} % {divisor} == 0")
                break
        else:
            return (_whole(letters, coefficient),)
    return found


def _whole(letters: Monomial, coefficient: Fraction) -> str:
    above = Polynomial.term(
        Fraction(abs(coefficient.numerator)), {k: power for k, power in letters if power > 0}
    )
    below = Polynomial.term(
        Fraction(coefficient.denominator), {k: -power for k, power in letters if power < 0}
    )
    return f"{above} % ({below}) == 0" if "*" in str(below) else f"{above} % {below} == 0"
