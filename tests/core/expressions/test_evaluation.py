"""The one evaluator of formulas: exact, and deaf to everything that is no formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.expressions.evaluation import (
    FormulaError,
    UnevenDivision,
    evaluate,
    names_in,
    terms_of,
)

VALUES = {"D": 768, "N": 12, "A": 12, "A_kv": 3}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("0", 0),
        ("N*(12*D**2 + 13*D)", 85_054_464),
        ("A_kv*D//A", 192),
        ("D//A*A_kv", 192),
        ("(D - 24)//(2*A)", 31),
        ("-D + 2", -766),
        ("1 - (2 - 3)", 2),
        ("+ D", 768),
        (" + ".join(["D"] * 2000), 768 * 2000),
    ],
)
def test_exact(formula: str, value: int) -> None:
    assert evaluate(formula, VALUES) == value


def test_a_division_that_leaves_a_remainder() -> None:
    with pytest.raises(UnevenDivision, match="767 is not divisible by 12"):
        evaluate("(D - 1)//A", VALUES)
    with pytest.raises(UnevenDivision):
        evaluate("D//(A - N)", VALUES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "D +",
        "D/2",
        "D % 2",
        "D.bit_length()",
        "__import__('os')",
        "D if D else N",
        "[D]",
        "True",
        "1.5*D",
        "D**N",
        "D**-1",
        "D**100",
        "((D**99)**99)**99",
        "~D",
        "Q*D",
        "D" * 3 + "\x00",
        "(" * 500 + "D" + ")" * 500,
    ],
)
def test_what_is_no_formula(text: str) -> None:
    with pytest.raises(FormulaError):
        evaluate(text, VALUES)


def test_letters_and_terms() -> None:
    assert names_in("A_kv*D//A + 3") == {"A_kv", "D", "A"}
    assert terms_of("V*D + N*(D - 1) - D") == ("V*D", "+ N*(D - 1)", "- D")
    assert terms_of("D") == ("D",)
    with pytest.raises(FormulaError):
        names_in("D +")


@given(st.integers(-99, 99), st.integers(-99, 99), st.integers(1, 20), st.integers(0, 4))
def test_python_gives_the_same(a: int, b: int, c: int, power: int) -> None:
    formula = f"(a - b)*c**{power} - (a*c)//c + -b"
    values = {"a": a, "b": b, "c": c}
    assert evaluate(formula, values) == (a - b) * c**power - (a * c) // c + -b
    parts = [evaluate(term, values) for term in terms_of(formula)]
    assert sum(parts) == evaluate(formula, values)
