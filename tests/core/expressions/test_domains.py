"""Domains are read as Python reads them, and nothing else is."""

import pytest

from bertviewer.core.expressions.evaluation import (
    FormulaError,
    all_met,
    is_met,
    join_conditions,
    names_in_conditions,
    split_conditions,
)

VALUES = {"D": 12, "A": 4, "E": 12, "image_size": 224, "patch_size": 16, "Z": 0}


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
    assert is_met(condition, VALUES) is met
    assert eval(condition, {}, dict(VALUES)) is met


def test_a_domain_is_all_of_its_conditions() -> None:
    domain = join_conditions(["D % A == 0", "E == D", "D % A == 0"])
    assert domain == "D % A == 0 and E == D"
    assert split_conditions(domain) == ("D % A == 0", "E == D")
    assert names_in_conditions(domain) == {"D", "A", "E"}
    assert all_met(domain, VALUES)
    assert not all_met(domain, {**VALUES, "E": 13})


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
    assert not is_met("D % Z == 0", VALUES)


@pytest.mark.parametrize("text", ["D", "D = 3", "D < 3", "print(D) == 0", "D % A", "", "D is A"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        is_met(text, VALUES)


def test_a_letter_needs_a_value() -> None:
    with pytest.raises(FormulaError, match="Q has no value"):
        all_met("Q == 1", VALUES)
