"""Which weights of a grid are drawn as lines, and what they say."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.arcs import Arc, arcs_from, arcs_of, arcs_text, arcs_to
from bertviewer.charts.chart import GridChart

VALUES = np.array([[0.5, 0.25, 0.25], [0.0, 0.75, 0.25], [0.125, np.nan, 0.875]])
NAMES = ("a", "b", "c")
CHART = GridChart(
    VALUES,
    NAMES,
    NAMES,
    row_names=tuple(f"query {name}" for name in NAMES),
    column_names=tuple(f"key {name}" for name in NAMES),
    joint=" → ",
)


def test_all_weights_have_a_line_the_weakest_first() -> None:
    arcs = arcs_of(CHART)
    assert arcs.each is None
    weights = [arc.weight for arc in arcs.lines]
    assert weights == sorted(weights)
    drawn = {(arc.row, arc.column): arc.weight for arc in arcs.lines}
    there = np.isfinite(VALUES) & (VALUES != 0)
    assert drawn == {(r, c): VALUES[r, c] for r, c in np.argwhere(there).tolist()}


@pytest.mark.parametrize("most", [3, 6, 8])
def test_of_many_each_token_has_its_largest(most: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(20), size=3)
    names = tuple(map(str, range(20)))
    arcs = arcs_of(GridChart(values, names[:3], names), most)
    each = most // 3
    assert arcs.each == each
    for row in range(3):
        drawn = sorted(arc.column for arc in arcs.lines if arc.row == row)
        assert drawn == sorted(np.argsort(-values[row])[:each].tolist())


def test_weights_that_are_next_to_nothing_have_none() -> None:
    values = np.full((1, 400), 0.001)
    values[0, 7], values[0, 8] = 0.62, 0.0012
    names = tuple(map(str, range(400)))
    arcs = arcs_of(GridChart(values, ("a",), names))
    assert arcs.least == 0.5 / 400
    assert [arc.column for arc in arcs.lines] == [7]
    # Where all are alike, all are drawn.
    assert len(arcs_of(GridChart(np.full((1, 400), 1 / 400), ("a",), names)).lines) == 400
    assert arcs_of(CHART).least == 0.005


def test_masked_cells_have_none_and_a_difference_may_be_negative() -> None:
    masked = np.triu(np.ones((3, 3), dtype=np.bool_), 1)
    assert {(arc.row, arc.column) for arc in arcs_of(replace(CHART, masked=masked)).lines} == {
        (0, 0), (1, 1), (2, 0), (2, 2)
    }  # fmt: skip
    signed = replace(CHART, values=np.array([[-0.5, 0.25], [0.125, 0.0]]), is_signed=True)
    assert [arc.weight for arc in arcs_of(signed).lines] == [0.125, 0.25, -0.5]


def test_a_token_has_all_of_its_lines() -> None:
    assert arcs_from(CHART, 2) == (Arc(2, 0, 0.125), Arc(2, 2, 0.875))
    assert arcs_to(CHART, 1) == (Arc(0, 1, 0.25), Arc(1, 1, 0.75))
    assert arcs_text(CHART, 2, True) == "query c → key c 0.875  ·  key a 0.125"
    assert arcs_text(CHART, 1, False) == "query b 0.75  ·  query a 0.25 → key b"
    assert arcs_text(replace(CHART, values=np.zeros((3, 3))), 0, True) == ""
    # What a mask hides is told from what was measured to be nothing.
    masked = np.triu(np.ones((3, 3), dtype=np.bool_), 1)
    hidden = replace(CHART, masked=masked)
    assert arcs_text(hidden, 0, True) == "query a → key a 0.5  ·  2 masked"
    assert arcs_text(hidden, 2, False) == "query c 0.875  ·  2 masked → key c"
    assert arcs_text(hidden, 2, True) == "query c → key c 0.875  ·  key a 0.125"
