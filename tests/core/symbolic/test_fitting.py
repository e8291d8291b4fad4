"""Formulas found from changes of one and two numbers; each is told from its rivals."""

from collections.abc import Callable
from itertools import combinations

import pytest

from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.symbolic.fitting import fit, symbols_to_pair

VALUES = {"D": 48, "A": 8, "K": 6, "M": 2, "W": 7, "P": 16, "H": 224}


def found(size: Callable[..., int]) -> str | None:
    """Fit a function of the letters as experiments do: each changed twice, and two together."""
    base = size(**VALUES)
    points = {letter: (value * 2, value * 4) for letter, value in VALUES.items()}
    points["P"] = (8, 4)
    points["A"] = (4, 2)
    seen = {
        letter: tuple((value, size(**{**VALUES, letter: value})) for value in both)
        for letter, both in points.items()
    }
    moving = symbols_to_pair(base, VALUES, seen)
    pairs = {}
    for one, other in combinations(moving, 2):
        values = points[one][0], points[other][0]
        changed = {**VALUES, one: values[0], other: values[1]}
        pairs[one, other] = (*values, size(**changed))
    polynomial = fit(base, VALUES, seen, pairs)
    return None if polynomial is None else str(polynomial)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (lambda **v: 5, "5"),
        (lambda **v: 3 * v["D"], "3*D"),
        (lambda **v: v["A"] * v["K"], "A*K"),
        (lambda **v: v["M"] * v["D"] // v["A"], "D*M//A"),
        (lambda **v: v["D"] + 2, "D + 2"),
        (lambda **v: (v["H"] // v["P"]) ** 2, "H**2//P**2"),
        (lambda **v: (v["H"] // v["P"]) ** 2 + 1, "H**2//P**2 + 1"),
        (lambda **v: (2 * v["W"] - 1) ** 2, "4*W**2 - 4*W + 1"),
        (lambda **v: (v["A"] + 2 * v["M"]) * v["K"], "A*K + 2*K*M"),
        (lambda **v: v["D"] + 2 * v["M"] * (v["D"] // v["A"]), "D + 2*D*M//A"),
        (lambda **v: v["D"] * v["M"] + v["A"] * v["K"] + v["W"], "A*K + D*M + W"),
        (lambda **v: (v["H"] // v["P"]) ** 2 + v["W"] + 1, "W + H**2//P**2 + 1"),
        (lambda **v: (v["D"] - 2) // 2, "D//2 - 1"),
        (lambda **v: 4 * v["K"] * v["M"] + 2 * v["D"], "4*K*M + 2*D"),
    ],
)
def test_what_is_found(size: Callable[..., int], text: str) -> None:
    assert found(size) == text
    assert evaluate(text, VALUES) == size(**VALUES)


def test_two_equal_parts_are_told_apart() -> None:
    # At these values both parts are 12, so each letter alone doubles one of two equal halves.
    def size(**v: int) -> int:
        return v["K"] * v["M"] + v["W"] * v["A"] - 44

    assert found(size) == "A*W + K*M - 44"


def test_what_is_not_found() -> None:
    assert found(lambda **v: v["D"] ** 2 * v["W"] ** 4) is None
