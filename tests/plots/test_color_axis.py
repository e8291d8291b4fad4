"""Labels of a bar of colours: round numbers, written alike, where their colours are."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QFontMetricsF

from bertviewer.charts.levels import Levels, widened
from bertviewer.charts.theme import LIGHT
from bertviewer.core.util.numbers import MINUS
from bertviewer.plots.color_bar import ColorAxis
from bertviewer.plots.color_scale import SHADES, ColorScale, color_table
from bertviewer.plots.number_axis import LINE, NumberAxis

pytestmark = pytest.mark.usefixtures("qapp")


def scale(levels: Levels, is_root: bool = True) -> ColorScale:
    return ColorScale(levels, color_table(LIGHT, levels[0] < 0), levels[0] < 0, is_root)


def line() -> float:
    """Return how many pixels two labels are apart at least, in whatever font there is."""
    return LINE * QFontMetricsF(ColorAxis().font()).height()


def labels(levels: Levels, size: float, is_root: bool = True) -> list[tuple[float, str]]:
    axis = ColorAxis()
    axis.show_scale(scale(levels, is_root))
    return axis.labels(size)


@pytest.mark.parametrize(
    ("levels", "lines", "expected"),
    [
        ((0.0, 1.0), 80, "0.00 0.01 0.03 0.06 0.10 0.20 0.30 0.40 0.50 0.60 0.80 1.00"),
        ((0.0, 1.0), 4, "0.0 0.2 0.5 1.0"),
        ((0.0, 0.37), 80, "0.000 0.003 0.010 0.030 0.050 0.070 0.100 0.200 0.300"),
        ((-0.04, 0.04), 4.8, "−0.04 −0.01 0.00 0.01 0.04"),
        ((0.0, 9e-5), 4, "0 2e−05 5e−05 9e−05"),
    ],
)
def test_labels_at_roots(levels: Levels, lines: float, expected: str) -> None:
    assert " ".join(text for _, text in labels(levels, lines * line())) == expected


def test_without_roots_they_are_those_of_any_axis() -> None:
    axis = NumberAxis("right")
    ((step, values),) = axis.tickValues(0.0, 0.93, 400)
    found = labels((0.0, 0.93), 400, is_root=False)
    assert [part for part, _ in found] == pytest.approx([value / 0.93 for value in values])
    assert [text for _, text in found] == axis.tickStrings(values, 1.0, step)


@given(
    high=st.floats(1e-12, 1e6),
    is_signed=st.booleans(),
    is_root=st.booleans(),
    size=st.floats(1, 3000),
)
def test_a_label_stands_where_its_value_has_its_colour(
    high: float, is_signed: bool, is_root: bool, size: float
) -> None:
    levels = (-high if is_signed else 0.0, high)
    found = labels(levels, size, is_root)
    values = np.array([float(text.replace(MINUS, "-").replace(",", "")) for _, text in found])
    shades = scale(levels, is_root).shades(values)
    # What the bar has at a label, and what a cell of that value has: the whole shade below.
    assert [part * (SHADES - 1) for part, _ in found] == pytest.approx(shades.tolist(), abs=1.01)
    assert all(b - a >= 0.999 * line() / size for (a, _), (b, _) in pairwise(found))


@given(
    ends=st.tuples(st.floats(-1e4, 1e4), st.floats(1e-9, 1e4)),
    is_signed=st.booleans(),
    is_root=st.booleans(),
    size=st.floats(80, 3000),
)
def test_a_bar_has_both_ends_or_three_labels(
    ends: tuple[float, float], is_signed: bool, is_root: bool, size: float
) -> None:
    start, span = ends
    levels = (-span, span) if is_signed else widened(start, start + span)
    if is_root and not is_signed:
        levels = (0.0, span)
    parts = [part for part, _ in labels(levels, size, is_root)]
    assert len(parts) > 2 or (len(parts) == 2 and parts[0] <= 0.1 and parts[1] >= 0.9)


@pytest.mark.parametrize(
    ("levels", "is_root", "expected"),
    [
        ((-0.092, 0.092), False, "−0.08 0.00 0.08"),
        ((-0.092, 0.092), True, "−0.09 0.00 0.09"),
        ((0.0, 0.93), False, "0.0 0.9"),
        ((8.93, 15.2), False, "10 12 14"),
        ((-1.0, 1.0), False, "−1 0 1"),
        ((0.0, 0.0199), True, "0.000 0.003 0.010"),
        ((-0.0199, 0.0199), True, "−0.01 0.00 0.01"),
        ((5.2, 14.3), False, "6 14"),
        ((-20.0, 299.0), False, "−20 280"),
    ],
)
def test_labels_of_a_low_bar(levels: Levels, is_root: bool, expected: str) -> None:
    assert " ".join(text for _, text in labels(levels, 3.18 * line(), is_root)) == expected


def test_another_scale_has_other_labels() -> None:
    axis = ColorAxis()
    for is_root in (False, True, False):
        axis.show_scale(scale((0.0, 1.0), is_root))
        assert len(axis.labels(100)) == (3 if not is_root else 4)


def test_no_room() -> None:
    assert labels((0.0, 1.0), 0) == labels((0.0, 1.0), 0, is_root=False) == []


@pytest.mark.parametrize("is_root", [False, True])
@pytest.mark.parametrize(
    "levels", [(9.7e-9, 3.742e-6), (2.81e-5, 5.567e-5), (0.0005215, 0.001033), (0.0, 1.0)]
)
def test_a_lower_bar_than_its_plot_has_room_for_its_labels(levels: Levels, is_root: bool) -> None:
    axis = ColorAxis()
    axis.show_scale(scale(levels, is_root))
    width = QFontMetricsF(axis.font()).horizontalAdvance
    for height in range(90, 400, 20):
        axis.fit(height)
        room = axis.style["tickTextWidth"]
        for size in range(height // 3 + 1, height, 5):
            assert all(width(text) <= room for _, text in axis.labels(size))


@pytest.mark.parametrize(
    ("levels", "lines", "expected"),
    [
        ((0.001, 40.0), 8, "0.001 0.01 0.1 1 10"),
        ((0.02, 0.4), 12, "0.02 0.05 0.1 0.2"),
        ((1e-9, 1.0), 4, "1e−09 1e−06 0.001 1"),
    ],
)
def test_labels_at_powers(levels: Levels, lines: float, expected: str) -> None:
    axis = ColorAxis()
    axis.show_scale(ColorScale(levels, color_table(LIGHT, False), is_log=True))
    found = axis.labels(lines * line())
    assert " ".join(text for _, text in found) == expected
    assert all(
        after - before >= line() / (lines * line()) for (before, _), (after, _) in pairwise(found)
    )
