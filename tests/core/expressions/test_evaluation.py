"""Formulas and conditions are parsed as Python expressions, and nothing else is accepted."""

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
def test_conditions_are_what_python_makes_of_them(condition: str, met: bool) -> None:
    assert is_met(condition, POINT) is met
    assert eval(condition, {}, dict(POINT)) is met


def test_a_domain_is_all_of_its_conditions() -> None:
    domain = join_conditions(["D % A == 0", "E == D", "D % A == 0"])
    assert domain == "D % A == 0 and E == D"
    assert split_conditions(domain) == ("D % A == 0", "E == D")
    assert names_in_conditions(domain) == {"D", "A", "E"}
    assert all_met(domain, POINT)
    assert not all_met(domain, {**POINT, "E": 13})


@pytest.mark.parametrize(
    ("conditions", "domain"),
    [
        (["I % 3 == 0", "I % 384 == 0"], "I % 384 == 0"),
        (["I % 3 == 0", "I % 4 == 0"], "I % 3 == 0 and I % 4 == 0"),
        (["I % 3 == 1", "I % 6 == 0"], "I % 3 == 1 and I % 6 == 0"),
        (["D == 64*A", "D % 64 == 0", "D % 3 == 0"], "D == 64*A and D % 3 == 0"),
        (["k >= 3", "k % 4 == 0", "k == 8", "k % 3 == 0"], "k == 8 and k % 3 == 0"),
        (
            ["k == 8", "j >= 3", "k != j", "k % A == 0"],
            "k == 8 and j >= 3 and k != j and k % A == 0",
        ),
    ],
)
def test_what_another_condition_says_is_left_out(conditions: list[str], domain: str) -> None:
    assert join_conditions(conditions) == domain


def test_no_domain_is_everywhere() -> None:
    assert join_conditions([]) is None
    assert split_conditions(None) == ()
    assert names_in_conditions(None) == frozenset()
    assert all_met(None, {})


def test_nothing_is_a_multiple_of_nothing() -> None:
    assert not is_met("D % Z == 0", POINT)


@pytest.mark.parametrize("text", ["D", "D = 3", "D < 3", "print(D) == 0", "D % A", "", "D is A"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        is_met(text, POINT)


def test_a_letter_needs_a_value() -> None:
    with pytest.raises(FormulaError, match="Q has no value"):
        all_met("Q == 1", POINT)
