"""Costs in numbers, and the text in which they are written."""

from fractions import Fraction

import pytest

from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.expressions.polynomials import Polynomial, factored, total
from bertviewer.core.schema.costs import Costs, ModuleCosts, weights_bytes

COSTS = Costs(
    symbols=(),
    modules={
        "": ModuleCosts("B*S*(D**2 + S*D)", ("B", "S"), ("B", "S", "D")),
        "rope": ModuleCosts("B*S*D//A", None, None),
        "odd": ModuleCosts(None, None, None),
    },
    peak=("B*S*D", "B*S**2*A"),
    peak_fixed={"G": 1},
)
VALUES = {"B": 2, "S": 3, "D": 4, "A": 2}


def test_numbers_from_formulas() -> None:
    assert COSTS.macs("", VALUES) == 6 * (16 + 12)
    assert COSTS.peak_elements(VALUES) == 2 * 9 * 2
    assert COSTS.peak_elements({**VALUES, "S": 1}) == 2 * 4


def test_no_formula_no_number() -> None:
    assert COSTS.macs("odd", VALUES) is None
    assert COSTS.macs("never.called", VALUES) is None
    assert COSTS.macs("rope", {**VALUES, "A": 5}) is None
    assert COSTS.peak_elements({**VALUES, "G": 2}) is None
    assert Costs((), {}, ()).peak_elements(VALUES) is None


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 28), ("float16", 14), ("bfloat16", 14), ("int8", 7), ("int4", 4)],
)
def test_bytes_of_weights(dtype: str, size: int) -> None:
    assert weights_bytes(7, dtype) == size


def test_an_unknown_dtype() -> None:
    with pytest.raises(KeyError):
        weights_bytes(7, "float8")


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
def test_repetitions_stand_before_brackets(terms: list[Polynomial], text: str) -> None:
    polynomial = total(terms)
    assert factored(polynomial, ("N",)) == text
    values = {"N": 3, "B": 2, "S": 5, "S_d": 7, "D": 8, "A": 4}
    assert evaluate(text, values) == evaluate(str(polynomial), values)
