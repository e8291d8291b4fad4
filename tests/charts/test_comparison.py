"""Run A beside run B, against sums done by hand."""

import numpy as np
from msgspec.structs import replace

from bertviewer.charts.chart import GridChart, HeadsChart, Line, LineChart
from bertviewer.charts.comparison import (
    grid_difference,
    heads_difference,
    line_difference,
    line_overlay,
    shared_levels,
)
from bertviewer.charts.selection_key import SelectionKey


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


def test_lines_over_one_another() -> None:
    chart = line_overlay(B, A)
    assert [(line.label, line.style, line.color) for line in chart.lines] == [
        ("B · new", "solid", 0),
        ("B · output", "solid", 1),
        ("A · output", "dashed", 1),
        ("A · gone", "dashed", 2),
    ]
    assert chart.lines[1].low == (1.0,) * 3
    assert chart.lines[2].values == (1.0, 2.0, 3.0)
    # A's token 9 is another one in B.
    assert chart.lines[2].keys == tuple(SelectionKey(f"layer.{n}") for n in range(3))
    assert (chart.y_title, chart.ticks) == ("std", ("0", "1", "x"))


def test_the_longer_run_gives_the_last_positions() -> None:
    short = lines(Line("output", (1.0,)), ticks="0")
    assert line_overlay(short, A).ticks == ("0", "1", "2")
    assert line_overlay(A, short).ticks == ("0", "1", "2")


def test_difference_of_lines() -> None:
    chart = line_difference(B, A)
    (line,) = chart.lines
    assert line.label == "output"
    assert line.values == (0.5, None, None)  # B has a gap, and then another tick
    assert line.low is line.high is None
    assert line.color == 1
    assert chart.y_title == "std, B − A"
    assert line_difference(A, A).lines[0].values == (0.0, 0.0, 0.0)
    short = lines(Line("output", (1.0,)), ticks="0")
    assert line_difference(A, short).lines[0].values == (0.0, None, None)


def test_the_difference_of_means_is_not_that_of_their_bands() -> None:
    a, b = (
        replace(chart, y_title="mean ± std, min, max", lines=tuple(
            replace(line, measure="mean", reach="std", name=f"{line.label} of all")
            for line in chart.lines
        ))
        for chart in (A, B)
    )  # fmt: skip
    assert line_difference(b, a).y_title == "mean, B − A"
    assert line_difference(b, a).table()[0] == ("Layer", "output of all, mean, B − A")
    header, _ = line_overlay(b, a).table()
    assert header[2:6] == (
        "B · output of all, mean",
        "B · output of all, mean − std",
        "B · output of all, mean + std",
        "A · output of all, mean",
    )


def test_positions_keep_their_names() -> None:
    named = replace(A, tick_names=("0", "1", "2, after norm"))
    short = replace(lines(Line("output", (1.0,)), ticks="0"), tick_names=("0, after norm",))
    assert line_overlay(short, named).names == ("0, after norm", "1", "2, after norm")
    assert line_overlay(B, A).names == B.ticks
    assert line_difference(named, A).names == named.tick_names


def grid(values: list[list[float]], is_signed: bool = False) -> GridChart:
    array = np.array(values, dtype=np.float32)
    rows, columns = (tuple(map(str, range(size))) for size in array.shape)
    return GridChart(array, rows, columns, value_title="‖h‖", is_signed=is_signed)


def test_difference_of_aligned_columns() -> None:
    a = grid([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    b = grid([[10.0, 20.0], [40.0, 50.0]])
    found = grid_difference(b, a, [(0, 1), (2, 0)])
    assert found.values.tolist() == [[7.0, 19.0], [34.0, 46.0]]
    assert found.is_signed
    assert found.columns == b.columns
    assert found.value_title == "‖h‖, B − A"


def test_what_has_no_partner_is_nan() -> None:
    a, b = grid([[1.0, 2.0]]), grid([[1.0, 2.0], [3.0, 4.0]])
    found = grid_difference(b, a, [(1, 0)])
    assert str(np.asarray(found.values).tolist()) == "[[-1.0, nan], [nan, nan]]"
    assert np.isnan(grid_difference(b, a, []).values).all()


def test_difference_of_tokens_by_tokens() -> None:
    a = grid([[1.0, 2.0], [3.0, 4.0]])
    b = grid([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 8.0]])
    pairs = [(0, 0), (1, 2)]
    found = grid_difference(b, a, pairs, pairs).values
    assert found[np.ix_([0, 2], [0, 2])].tolist() == [[0.0, 0.0], [0.0, 4.0]]
    assert np.isnan(found[1]).all()
    assert np.isnan(found[:, 1]).all()


def test_differences_are_taken_in_double_precision() -> None:
    a, b = grid([[1e8]]), grid([[0.1]])
    expected = float(np.float32(0.1)) - 1e8
    assert grid_difference(b, a, [(0, 0)]).values[0, 0] == expected


def test_grids_side_by_side_have_one_range() -> None:
    b, a = shared_levels(grid([[-3.0, float("nan")]]), grid([[1.0, 2.0]]))
    assert a.levels == b.levels == (-3.0, 2.0)
    assert (a.value_title, b.value_title) == ("A · ‖h‖", "B · ‖h‖")
    b, a = shared_levels(grid([[-3.0]], is_signed=True), grid([[1.0]], is_signed=True))
    assert a.levels == b.levels == (-3.0, 3.0)


def test_grids_without_a_title_get_the_names_of_their_runs() -> None:
    a, b = (replace(grid([[1.0]]), value_title="") for _ in "AB")
    assert [one.value_title for one in shared_levels(b, a)] == ["B", "A"]


def test_ranges_that_are_given_are_kept() -> None:
    a, b = (replace(grid([[0.5]]), levels=levels) for levels in ((0.0, 0.75), (0.25, 1.0)))
    b, a = shared_levels(b, a)
    assert a.levels == b.levels == (0.0, 1.0)


def heads(values: "list[list[list[float]]]") -> HeadsChart:
    array = np.array(values, dtype=np.float32)
    queries, keys = (tuple(map(str, range(size))) for size in array.shape[1:])
    captions = tuple(f"H {head}" for head in range(len(array)))
    return HeadsChart(array, captions, queries, keys, "Attention", levels=(0.0, array.max()))


def test_heads_side_by_side_have_one_range() -> None:
    b, a = shared_levels(heads([[[0.5, 0.5]]]), heads([[[0.25, 0.75]]]))
    assert a.levels == b.levels == (0.0, 0.75)


def test_difference_of_heads() -> None:
    a = heads([[[0.25, 0.75], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])
    b = heads([[[0.5, 0.25, 0.25]], [[0.125, 0.125, 0.75]]])
    # A's second query is B's only one, A's first key is B's last one.
    found = heads_difference(b, a, [(1, 0)], [(0, 2), (1, 0)])
    assert str(np.asarray(found.values).tolist()) == "[[[0.5, nan, -0.75]], [[-0.875, nan, 0.75]]]"
    assert found.is_signed
    # Each head has a range of its own: one that changed much would leave all others pale.
    assert found.head_levels == ((-0.75, 0.75), (-0.875, 0.875))
    assert found.captions == ("±0.75", "±0.88")
    assert found.value_title == "Attention, B − A"
    assert (found.queries, found.keys) == (b.queries, b.keys)
    assert found.text(0, 0, 2) == "head 0, query 0 → key 2: −0.75"


def test_difference_of_heads_without_partners() -> None:
    a, b = heads([[[1.0]]]), heads([[[0.5, 0.5]], [[1.0, 0.0]]])
    assert np.isnan(np.asarray(heads_difference(b, a, [], [(0, 0)]).values)).all()
    # A has no second head.
    found = np.asarray(heads_difference(b, a, [(0, 0)], [(0, 0)]).values)
    assert str(found.tolist()) == "[[[-0.5, nan]], [[nan, nan]]]"
