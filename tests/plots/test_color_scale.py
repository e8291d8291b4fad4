"""Values to colours: exact ends, square roots, and one place for what is no number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.charts.theme import GREY, LIGHT, PAPER
from bertviewer.plots.color_scale import SHADES, ColorScale, color_table

NAN, INF = float("nan"), float("inf")
LINEAR = ColorScale((0.0, 1.0), color_table(LIGHT, False))
ROOT = ColorScale((0.0, 1.0), color_table(LIGHT, False), is_root=True)
SIGNED = ColorScale((-0.25, 0.25), color_table(LIGHT, True), is_signed=True, is_root=True)


def test_shades() -> None:
    values = np.array([[0.0, 1.0, 0.5, -7.0, 9.0, NAN, INF, -INF]])
    found = LINEAR.shades(values)[0].tolist()
    assert found == [0, 255, 127, 0, 255, SHADES, SHADES, SHADES]


def test_shades_of_roots() -> None:
    values = np.array([[0.0, 1.0, 0.25, 0.01, -7.0, 9.0, NAN, INF, -INF]])
    found = ROOT.shades(values)[0].tolist()
    assert found == [0, 255, 127, 25, 0, 255, SHADES, SHADES, SHADES]


def test_roots_keep_their_signs() -> None:
    assert SIGNED.ends == (-0.5, 0.5)
    found = SIGNED.shades(np.array([-0.25, -0.0625, 0.0, 0.0625, 0.25])).tolist()
    assert found == [0, 63, 127, 191, 255]


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_root_is_where_the_square_is_without_roots(one: float, other: float) -> None:
    values = np.array([one, other])
    assert ROOT.shades(values**2).tolist() == pytest.approx(LINEAR.shades(values).tolist(), abs=1)
    # A larger weight is never darker.
    low, high = ROOT.shades(np.sort(values)).tolist()
    assert low <= high


def test_a_picture_has_a_pixel_for_each_value() -> None:
    image = LINEAR.image(np.array([[0.0, NAN, 1.0]] * 2))
    assert (image.width(), image.height()) == (3, 2)
    assert image.pixelColor(0, 1).name() == "#440154"
    assert image.pixelColor(1, 0).alpha() == 0
    assert image.pixelColor(2, 0).name() == "#fde725"


def test_colours_from_low_to_high_are_read_in_grey() -> None:
    tables = color_table(PAPER, False), color_table(GREY, False), color_table(GREY, True)
    for table in tables:
        light = np.array([(c >> 16 & 255, c >> 8 & 255, c & 255) for c in table[:-1].tolist()])[::8]
        steps = np.diff((light / 255.0) ** 2.2 @ (0.2126, 0.7152, 0.0722))
        assert (steps > 0).all() or (steps < 0).all()
        assert abs(steps.sum()) > 0.5
