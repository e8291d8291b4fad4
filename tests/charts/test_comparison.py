"""Overlays and differences of the charts of two runs."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.chart import Bars, GridChart, HeadsChart, HistogramChart, Line, LineChart
from bertviewer.charts.comparison import (
    grid_difference,
    heads_difference,
    histogram_difference,
    histogram_overlay,
    line_difference,
    line_overlay,
    shared_levels,
)
from bertviewer.charts.selection_key import SelectionKey
from tests.charts.described import Golden, described

LARGEST = 1.7976931348623157e308


def lines(*lines: Line, ticks: str = "012") -> LineChart:
    return LineChart(lines, "Layer", "std", tuple(ticks))


A = lines(
    Line("output", (1.0, 2.0, 3.0), tuple(SelectionKey(f"layer.{n}", token=9) for n in range(3))),
    Line("gone", (7.0, 7.0, 7.0)),
)
B = lines(
    Line("new", (0.0, 0.0)),
    Line(
        "output", (1.5, None, 2.0), (SelectionKey("layer.0"),) * 3, low=(1.0,) * 3, high=(2.0,) * 3
    ),
    ticks="01x",
)
SHORT = lines(Line("output", (1.0,)), ticks="0")


def test_lines_of_two_runs(golden: Golden) -> None:
    a, b = (
        replace(chart, y_title="mean ± std, min, max", lines=tuple(
            replace(line, measure="mean", reach="std", name=f"{line.label} of all")
            for line in chart.lines
        ))
        for chart in (A, B)
    )  # fmt: skip
    named = replace(A, tick_names=("0", "1", "2, after norm"))
    named_short = replace(SHORT, tick_names=("0, after norm",))
    ranks = replace(A, is_log=True, bounds=(0.0, 9.0))
    charts = {
        # A's token 9 is another one in B.
        "overlay": line_overlay(B, A),
        "overlay of a longer run A": line_overlay(SHORT, A),
        "overlay of a longer run B": line_overlay(named_short, named),
        "overlay with bands": line_overlay(b, a),
        "overlay of ranks": line_overlay(ranks, ranks),
        # B has a gap, and then another tick.
        "difference": line_difference(B, A),
        "difference of equal lines": line_difference(named, A),
        "difference of a longer run B": line_difference(A, SHORT),
        "difference of means": line_difference(b, a),
        "difference of ranks": line_difference(ranks, ranks),
    }
    golden("charts/lines of two runs.txt", described(charts))


def grid(values: list[list[float]], is_signed: bool = False) -> GridChart:
    array = np.array(values, dtype=np.float32)
    rows, columns = (tuple(map(str, range(size))) for size in array.shape)
    return GridChart(array, rows, columns, value_title="‖h‖", is_signed=is_signed)


def heads(values: list[list[list[float]]]) -> HeadsChart:
    array = np.array(values, dtype=np.float32)
    queries, keys = (tuple(map(str, range(size))) for size in array.shape[1:])
    captions = tuple(f"H {head}" for head in range(len(array)))
    return HeadsChart(array, captions, queries, keys, "Attention", levels=(0.0, array.max()))


def test_grids_and_heads_of_two_runs(golden: Golden) -> None:
    a, b = grid([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), grid([[10.0, 20.0], [40.0, 50.0]])
    square = grid([[1.0, 2.0], [3.0, 4.0]])
    pairs = [(0, 0), (1, 2)]
    larger = grid([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 8.0]])
    heads_a = heads([[[0.25, 0.75], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])
    heads_b = heads([[[0.5, 0.25, 0.25]], [[0.125, 0.125, 0.75]]])
    one, two = heads([[[1.0]]]), heads([[[0.5, 0.5]], [[1.0, 0.0]]])
    reordered = heads_difference(heads_b, heads_a, [(1, 0)], [(0, 2), (1, 0)])
    charts = {
        "columns": grid_difference(b, a, [(0, 1), (2, 0)]),
        "a column and row without a partner": grid_difference(square, grid([[1.0, 2.0]]), [(1, 0)]),
        "no pairs": grid_difference(square, square, []),
        "rows and columns": grid_difference(larger, square, pairs, pairs),
        # A's second query is B's only one, A's first key is B's last one. A head that changed
        # much leaves the others their range.
        "heads": reordered,
        "heads without queries": heads_difference(two, one, [], [(0, 0)]),
        "more heads": heads_difference(two, one, [(0, 0)], [(0, 0)]),
    }
    golden("charts/grids of two runs.txt", described(charts))
    assert reordered.text(0, 0, 2) == "head 0, query 0 → key 2: −0.75"


def test_differences_are_in_double_precision_and_finite() -> None:
    a, b = grid([[1e8]]), grid([[0.1]])
    expected = float(np.float32(0.1)) - 1e8
    assert grid_difference(b, a, [(0, 0)]).values[0, 0] == expected
    a, b = (
        replace(grid([[0.0] * 3]), values=np.array([[np.inf, largest, value]]))
        for largest, value in ((-LARGEST, 1.0), (LARGEST, 3.0))
    )
    difference = grid_difference(b, a, [(n, n) for n in range(3)]).values[0]
    assert np.isfinite(difference).tolist() == [False, False, True]
    assert difference[2] == 2


def test_grids_side_by_side_have_one_range() -> None:
    def signed(value: float) -> GridChart:
        return grid([[value]], is_signed=True)

    def given(low: float, high: float) -> GridChart:
        return replace(grid([[0.5]]), levels=(low, high))

    for b, a, levels in (
        (grid([[-3.0, np.nan]]), grid([[1.0, 2.0]]), (-3.0, 2.0)),
        (signed(-3.0), signed(1.0), (-3.0, 3.0)),
        (given(0.25, 1.0), given(0.0, 0.75), (0.0, 1.0)),
    ):
        shared = shared_levels(b, a)
        assert [one.levels for one in shared] == [levels, levels]
        assert [one.value_title for one in shared] == ["B · ‖h‖", "A · ‖h‖"]
    of_heads = shared_levels(heads([[[0.5, 0.5]]]), heads([[[0.25, 0.75]]]))
    assert [one.levels for one in of_heads] == [(0.0, 0.75)] * 2
    # The end of a scale keeps its label if the other run's scale is shorter.
    b, a = (replace(given(0.0, high), end_label=f"ln {high}") for high in (2.0, 3.0))
    assert {one.end_label for one in shared_levels(b, a)} == {"ln 3.0"}
    assert {one.end_label for one in shared_levels(b, given(0.0, 3.0))} == {""}
    assert grid_difference(b, a).end_label == ""
    untitled = (replace(grid([[1.0]]), value_title="") for _ in "BA")
    assert [one.value_title for one in shared_levels(*untitled)] == ["B", "A"]


EDGES = (0.0, 1.0, 2.0)
FEW = HistogramChart(EDGES, (Bars("x", (1, 3), mean=1.25),), "Value", "Elements")
MANY = HistogramChart(
    EDGES, (Bars("y", (30, 10), nan_count=40, inf_count=20, mean=0.75),), "Value", "Elements"
)


def test_histograms_of_two_runs(golden: Golden) -> None:
    same = replace(FEW, series=(replace(FEW.series[0], counts=(4, 0)),))
    none = HistogramChart(EDGES, (Bars("x", (0, 0)),))
    charts = {
        # Fractions of all values, including NaN and Inf: the runs differ in length.
        "overlay": histogram_overlay(MANY, FEW),
        "overlay of counts": histogram_overlay(
            replace(MANY, is_log=True), replace(FEW, is_log=True)
        ),
        "overlay of runs of the same length": histogram_overlay(same, FEW),
        "difference": histogram_difference(replace(MANY, is_log=True), FEW),
        "difference of nothing": histogram_difference(none, none),
    }
    golden("charts/histograms of two runs.txt", described(charts))
    (bars,) = histogram_difference(MANY, FEW).series
    assert sum(bars.counts) + bars.nan_count + bars.inf_count == pytest.approx(0)
    other = HistogramChart((0.0, 1.5, 2.0), (Bars("x", (1, 3)),))
    for compare in (histogram_overlay, histogram_difference):
        with pytest.raises(ValueError, match="different bins"):
            compare(FEW, other)
