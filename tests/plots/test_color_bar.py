"""Labels of colour bars, and the width that they need."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from bertviewer.charts.levels import Levels, widened
from bertviewer.charts.theme import LIGHT
from bertviewer.core.util.numbers import MINUS
from bertviewer.plots.axes import axis_metrics
from bertviewer.plots.color_bar import ColorBar, ColorTicks
from bertviewer.plots.color_scale import SHADES, ColorScale, color_table
from bertviewer.plots.ticks import LINE, NumberTicks
from tests.plots.looking import sheet

pytestmark = pytest.mark.usefixtures("qapp")


def scale(levels: Levels, is_root: bool = True, is_log: bool = False) -> ColorScale:
    is_signed = levels[0] < 0
    return ColorScale(levels, color_table(LIGHT, is_signed), is_signed, is_root, is_log)


def line() -> float:
    """Return the least distance of two labels in pixels."""
    return LINE * axis_metrics().height()


def labels(levels: Levels, size: float, is_root: bool = True) -> list[tuple[float, str]]:
    return ColorTicks(scale(levels, is_root), axis_metrics()).labels(size)


def test_bars_titles_and_swatches(image: Callable[[str, Any], None]) -> None:
    def drawn(
        scale: ColorScale, title: str = "", masked: str = "", *, is_compact: bool = False
    ) -> QImage:
        """Draw a bar to the right of a blank strip."""
        bar = ColorBar(scale, LIGHT, title, masked, is_compact=is_compact)
        picture = QImage(110, 200, QImage.Format.Format_RGB32)
        picture.fill(LIGHT.surface)
        painter = QPainter(picture)
        bar.draw(painter, QRectF(0, 10, 10, 180), 200)
        painter.end()
        return picture

    pictures = sheet(
        drawn(scale((0.0, 1.0), is_root=False), "Norm"),
        drawn(scale((0.0, 1.0)), "Attention", "masked"),
        drawn(
            scale((-0.04, 0.04)), "A long title that is cut in the middle and keeps its end, B − A"
        ),
        drawn(scale((0.001, 40.0), is_root=False, is_log=True)),
        drawn(scale((0.0, 3e-6), is_root=False), "Norm"),
        drawn(scale((0.0, 1.0)), "Attention", is_compact=True),
        columns=6,
    )
    image("colour bars", pictures)


SCALES: dict[str, list[tuple[Levels, float]]] = {
    # Of bars with room for few labels both ends are labelled.
    "roots": [
        ((0.0, 1.0), 80), ((0.0, 1.0), 4), ((0.0, 0.37), 80), ((-0.04, 0.04), 4.8),
        ((0.0, 9e-5), 4), ((-0.092, 0.092), 3.18), ((0.0, 0.0199), 3.18), ((-0.0199, 0.0199), 3.18),
    ],
    "linear": [
        ((-0.092, 0.092), 3.18), ((0.0, 0.93), 3.18), ((8.93, 15.2), 3.18), ((-1.0, 1.0), 3.18),
        ((5.2, 14.3), 3.18), ((-20.0, 299.0), 3.18),
    ],
    "powers": [((0.001, 40.0), 8), ((0.02, 0.4), 12), ((1e-9, 1.0), 4)],
}  # fmt: skip
"""Levels and heights in lines."""


def test_labels(golden: Callable[[str, str], None]) -> None:
    found = []
    for kind, cases in SCALES.items():
        for levels, lines in cases:
            colors = scale(levels, is_root=kind == "roots", is_log=kind == "powers")
            shown = ColorTicks(colors, axis_metrics()).labels(lines * line())
            found.append(f"{kind} {levels}, {lines} lines: {' '.join(text for _, text in shown)}\n")
    golden("plots/colour bars.txt", "".join(found))


def test_linear_labels_are_those_of_an_axis() -> None:
    ticks = NumberTicks(axis_metrics()).ticks(0.0, 0.93, 400)
    found = labels((0.0, 0.93), 400, is_root=False)
    assert [part for part, _ in found] == pytest.approx([tick.value / 0.93 for tick in ticks])
    assert [text for _, text in found] == [tick.text for tick in ticks]
    assert labels((0.0, 1.0), 0) == labels((0.0, 1.0), 0, is_root=False) == []


@given(
    high=st.floats(1e-12, 1e6),
    is_signed=st.booleans(),
    is_root=st.booleans(),
    size=st.floats(1, 3000),
)
def test_a_label_is_where_its_value_has_its_colour(
    high: float, is_signed: bool, is_root: bool, size: float
) -> None:
    levels = (-high if is_signed else 0.0, high)
    found = labels(levels, size, is_root)
    values = np.array([float(text.replace(MINUS, "-").replace(",", "")) for _, text in found])
    shades = scale(levels, is_root).shades(values)
    # Cells have the whole shade below.
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


@pytest.mark.parametrize("is_root", [False, True])
@pytest.mark.parametrize("levels", [(9.7e-9, 3.742e-6), (0.0005215, 0.001033), (0.0, 1.0)])
def test_a_bar_lower_than_its_plot_has_room_for_its_labels(levels: Levels, is_root: bool) -> None:
    bar, metrics = ColorBar(scale(levels, is_root), LIGHT, is_compact=True), axis_metrics()
    for height in range(90, 400, 40):
        room = bar.width(height) - 21  # the bar and the space around it
        for size in range(height // 3 + 1, height, 5):
            texts = [text for _, text in labels(levels, size, is_root)]
            assert all(metrics.horizontalAdvance(text) <= room for text in texts)


def test_other_scales_keep_the_width_of_a_bar() -> None:
    def width(levels: Levels, is_root: bool) -> float:
        return ColorBar(scale(levels, is_root), LIGHT).width(512)

    ordinary = {width((low, 0.9), is_root) for low in (0.0, -0.9) for is_root in (False, True)}
    assert len(ordinary) == 1
    assert width((0.0, 3e-6), False) > ordinary.pop()
