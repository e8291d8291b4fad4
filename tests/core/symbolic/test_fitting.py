"""Formulas fitted to sizes of models in which one number is changed, or two."""

from collections.abc import Callable
from itertools import combinations

import pytest

from bertviewer.core.expressions.evaluation import evaluate
from bertviewer.core.symbolic.fitting import fit, symbols_to_pair

VALUES = {"D": 48, "A": 8, "K": 6, "M": 2, "W": 7, "P": 16, "H": 224}


def fitted(size: Callable[..., int]) -> str | None:
    """Fit a function of the symbols: each is changed twice, and pairs are changed together."""
    base = size(**VALUES)
    points = {name: (value * 2, value * 4) for name, value in VALUES.items()}
    points["P"] = (8, 4)
    points["A"] = (4, 2)
    seen = {
        name: tuple((value, size(**{**VALUES, name: value})) for value in both)
        for name, both in points.items()
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
def test_fitted_formulas(size: Callable[..., int], text: str) -> None:
    assert fitted(size) == text
    assert evaluate(text, VALUES) == size(**VALUES)


def test_equal_parts_are_distinguished_by_pairs() -> None:
    # At these values both parts are 12: a symbol alone doubles one of two equal halves.
    def size(**v: int) -> int:
        return v["K"] * v["M"] + v["W"] * v["A"] - 44

    assert fitted(size) == "A*W + K*M - 44"


def test_a_size_without_a_formula() -> None:
    assert fitted(lambda **v: v["D"] ** 2 * v["W"] ** 4) is None
