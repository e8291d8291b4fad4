"""A window is on a screen that there is, and fits it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect

from bertviewer.ui.shell.window_geometry import mended_place, room_on

SMALL, RIGHT = QRect(0, 0, 1366, 728), QRect(1366, 0, 2560, 1400)


@pytest.mark.parametrize(
    "place", [QRect(100, 40, 900, 600), QRect(1500, 40, 2000, 1200), QRect(0, 0, 1358, 688)]
)
def test_a_place_that_is_there_stays(place: QRect) -> None:
    assert mended_place(place, [SMALL, RIGHT]) == place


def test_a_window_is_never_larger_than_its_screen() -> None:
    found = mended_place(QRect(10, 10, 5000, 4000), [SMALL])
    assert SMALL.contains(found)
    assert found == room_on(SMALL)


def test_a_screen_that_is_gone() -> None:
    found = mended_place(QRect(2000, 300, 900, 600), [SMALL])
    assert SMALL.contains(found)
    assert found.size().width() == 900


@given(
    st.integers(-(10**5), 10**5),
    st.integers(-(10**5), 10**5),
    st.integers(1, 10**5),
    st.integers(1, 10**5),
)
def test_it_can_always_be_taken_hold_of(x: int, y: int, width: int, height: int) -> None:
    found = mended_place(QRect(x, y, width, height), [SMALL, RIGHT])
    assert any(screen.contains(found) for screen in (SMALL, RIGHT))


def test_without_screens_it_stays() -> None:
    place = QRect(5, 5, 50, 50)
    assert mended_place(place, []) == place
