"""Costs as factored text: layers, batch size and tokens go before brackets."""

from collections.abc import Collection, Iterable
from fractions import Fraction

from bertviewer.core.expressions.polynomials import Monomial, Polynomial, join_terms, total

TOKEN_LETTERS = ("B", "S", "S_d")
"""What a sentence brings, in the order in which it is written."""

ONE = Fraction(1)


def factored(polynomial: Polynomial, layers: Collection[str]) -> str:
    """Write a cost with layers, sentences and tokens before brackets.

    Args:
        polynomial: the cost, expanded.
        layers: the letters that are numbers of layers.

    Returns:
        An expression of the same value: ``N*B*S*(4*D**2 + 2*D*I + 2*S*D) + B*D**2``.
    """
    groups: dict[object, list[Polynomial]] = {}
    for letters, value in polynomial.terms.items():
        # What is done in the same layers, and for the same tokens, belongs together.
        powers = dict(letters)
        repeats = tuple((letter, powers[letter]) for letter in layers if letter in powers)
        tokens = frozenset(letter for letter in TOKEN_LETTERS if letter in powers)
        groups.setdefault((repeats, tokens), []).append(Polynomial({letters: value}))
    return join_terms(_bracketed(total(terms), layers) for terms in groups.values())


def _bracketed(polynomial: Polynomial, layers: Collection[str]) -> str:
    outside = _common_powers(polynomial, (*layers, *TOKEN_LETTERS))
    if not outside:
        return str(polynomial)
    before = [str(Polynomial.term(ONE, {letter: power})) for letter, power in outside.items()]
    inside = polynomial * Polynomial.term(
        ONE, {letter: -power for letter, power in outside.items()}
    )
    if len(inside.terms) > 1:
        ordered = sorted(inside.terms.items(), key=lambda term: _token_degree(term[0]))
        return "*".join((*before, f"({Polynomial(dict(ordered))})"))
    ((letters, value),) = inside.terms.items()
    if value.denominator != 1 or any(power < 0 for _, power in letters):
        return str(polynomial)  # the division has to stay last
    if value != 1:
        before.insert(0, str(value))
    rest = str(Polynomial({letters: ONE}))
    return "*".join(before if not letters else (*before, rest))


def _common_powers(polynomial: Polynomial, letters: Iterable[str]) -> dict[str, int]:
    """Return the letters that all terms have, with the power that all of them have at least."""
    terms = [dict(term) for term in polynomial.terms]
    powers = {letter: min(term.get(letter, 0) for term in terms) for letter in letters}
    return {letter: power for letter, power in powers.items() if power > 0}


def _token_degree(letters: Monomial) -> int:
    return sum(power for letter, power in letters if letter in TOKEN_LETTERS)
