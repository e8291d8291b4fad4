"""Formulas and conditions: parsed and evaluated exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.expressions.evaluation import (
    FormulaError,
    UnevenDivision,
    all_met,
    evaluate,
    is_met,
    join_conditions,
    names_in,
    names_in_conditions,
    split_conditions,
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
def test_formulas_have_exact_values(formula: str, value: int) -> None:
    assert evaluate(formula, VALUES) == value


def test_a_remainder_is_an_error() -> None:
    with pytest.raises(UnevenDivision, match="767 is not divisible by 12"):
        evaluate("(D - 1)//A", VALUES)
    with pytest.raises(UnevenDivision):
        evaluate("D//(A - N)", VALUES)


NO_FORMULAS = """
D +|D/2|D % 2|D.bit_length()|__import__('os')|D if D else N|[D]|True|1.5*D|D**N|D**-1|D**100|~D|Q*D
((D**99)**99)**99
"""


@pytest.mark.parametrize(
    "text",
    ["", *NO_FORMULAS.strip().replace("\n", "|").split("|"), "D\x00", "(" * 500 + "D" + ")" * 500],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        evaluate(text, VALUES)


def test_symbols_and_terms() -> None:
    assert names_in("A_kv*D//A + 3") == {"A_kv", "D", "A"}
    assert terms_of("V*D + N*(D - 1) - D") == ("V*D", "+ N*(D - 1)", "- D")
    assert terms_of("D") == ("D",)
    with pytest.raises(FormulaError):
        names_in("D +")


@given(st.integers(-99, 99), st.integers(-99, 99), st.integers(1, 20), st.integers(0, 4))
def test_values_are_those_of_python(a: int, b: int, c: int, power: int) -> None:
    formula = f"(a - b)*c**{power} - (a*c)//c + -b"
    values = {"a": a, "b": b, "c": c}
    assert evaluate(formula, values) == (a - b) * c**power - (a * c) // c + -b
    parts = [evaluate(term, values) for term in terms_of(formula)]
    assert sum(parts) == evaluate(formula, values)


POINT = {"D": 12, "A": 4, "E": 12, "image_size": 224, "patch_size": 16, "Z": 0}


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("D % A == 0", True),
        ("D % 5 == 0", False),
        ("(D - 1) % 2 == 0", False),
        ("D*A % (A**2) == 0", True),
        ("E == D", True),
        ("E != D", False),
        ("D == 3*A", True),
        ("D >= 12", True),
        ("D >= 13", False),
        ("D <= 12", True),
        ("image_size % patch_size == 0", True),
    ],
)
def test_conditions_are_those_of_python(condition: str, met: bool) -> None:
    assert is_met(condition, POINT) is met
    assert eval(condition, {}, dict(POINT)) is met


def test_a_condition_that_divides_by_zero_is_not_met() -> None:
    assert not is_met("D % Z == 0", POINT)


@pytest.mark.parametrize("text", ["D", "D = 3", "D < 3", "print(D) == 0", "D % A", "", "D is A"])
def test_other_conditions_are_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        is_met(text, POINT)
    with pytest.raises(FormulaError, match="Q has no value"):
        all_met("Q == 1", POINT)


@pytest.mark.parametrize(
    ("conditions", "domain"),
    [
        (["D % A == 0", "E == D", "D % A == 0"], "D % A == 0 and E == D"),
        (["I % 3 == 0", "I % 384 == 0"], "I % 384 == 0"),
        (["I % 3 == 0", "I % 4 == 0"], "I % 3 == 0 and I % 4 == 0"),
        (["I % 3 == 1", "I % 6 == 0"], "I % 3 == 1 and I % 6 == 0"),
        (["D == 64*A", "D % 64 == 0", "D % 3 == 0"], "D == 64*A and D % 3 == 0"),
        (["k >= 3", "k % 4 == 0", "k == 8", "k % 3 == 0"], "k == 8 and k % 3 == 0"),
        (
            ["k == 8", "j >= 3", "k != j", "k % A == 0"],
            "k == 8 and j >= 3 and k != j and k % A == 0",
        ),
        ([], None),
    ],
)
def test_joined_conditions_leave_out_implied_ones(
    conditions: list[str], domain: str | None
) -> None:
    assert join_conditions(conditions) == domain


def test_a_domain_is_met_if_all_conditions_are() -> None:
    domain = "D % A == 0 and E == D"
    assert split_conditions(domain) == ("D % A == 0", "E == D")
    assert names_in_conditions(domain) == {"D", "A", "E"}
    assert all_met(domain, POINT)
    assert not all_met(domain, {**POINT, "E": 13})
    assert split_conditions(None) == ()
    assert names_in_conditions(None) == frozenset()
    assert all_met(None, {})
