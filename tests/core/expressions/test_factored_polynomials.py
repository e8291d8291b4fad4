"""Sums with common factors in front of brackets."""

from fractions import Fraction

import pytest

from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.expressions.polynomials import Polynomial, factored, total


def term(coefficient: Fraction | int, **powers: int) -> Polynomial:
    return Polynomial.term(Fraction(coefficient), powers)


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ([term(2, N=1, B=1, S=2, D=1), term(4, N=1, B=1, S=1, D=2)], "N*B*S*(4*D**2 + 2*S*D)"),
        ([term(1, B=1, S=1, D=2), term(1, B=1, D=2)], "B*S*D**2 + B*D**2"),
        ([term(2, N=1, B=1, S=1, S_d=1, D=1)], "2*N*B*S*S_d*D"),
        ([term(Fraction(1, 2), B=1, D=1), term(-3, B=1)], "B*(D//2 - 3)"),
        ([term(Fraction(3, 2), B=1, S=1)], "3*B*S//2"),
        ([term(2, B=1, S=1, D=1, A=-1)], "2*B*S*D//A"),
        ([term(1, B=1, S=1)], "B*S"),
        ([term(7)], "7"),
        ([], "0"),
    ],
)
def test_common_factors_are_in_front(terms: list[Polynomial], text: str) -> None:
    polynomial = total(terms)
    assert factored(polynomial, ("N",)) == text
    values = {"N": 3, "B": 2, "S": 5, "S_d": 7, "D": 8, "A": 4}
    assert evaluate(text, values) == evaluate(str(polynomial), values)
