"""Treemaps: positions, sizes and order of nested rectangles."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.treemap import (
    AREA_KINDS,
    Area,
    Cell,
    areas_of,
    side_by_side,
    squarified,
    treemap,
)
from tests.core.opened import derived
from tests.core.walkthrough.small_walkthroughs import small

ROOM = Rect(10, 20, 600, 400)
NEAR = pytest.approx


def area(rect: Rect) -> float:
    return rect.width * rect.height


def overlap(one: Rect, other: Rect) -> float:
    width = min(one.right, other.right) - max(one.x, other.x)
    height = min(one.bottom, other.bottom) - max(one.y, other.y)
    return max(width, 0) * max(height, 0)


def test_the_example_of_the_paper() -> None:
    rects = squarified([6, 6, 4, 3, 2, 2, 1], Rect(0, 0, 6, 4))
    assert [(rect.x, rect.y, rect.width, rect.height) for rect in rects[:2]] == [
        NEAR((0, 0, 3, 2)), NEAR((0, 2, 3, 2)),
    ]  # fmt: skip
    assert (rects[2].x, rects[2].width) == NEAR((3, 12 / 7))
    assert (rects[3].x, rects[3].width) == NEAR((3 + 12 / 7, 9 / 7))


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=40))
@example([171646618.25, 592926432.5, 0.0078125])
@example([171646613.0, 0.0078125])
def test_areas_are_proportional_and_do_not_overlap(values: list[float]) -> None:
    for rects in (squarified(values, ROOM), side_by_side(values, ROOM)):
        for rect, value in zip(rects, values, strict=True):
            assert area(rect) == NEAR(area(ROOM) * value / sum(values), rel=1e-5, abs=1e-3)
            assert rect.x >= ROOM.x - 1e-3
            assert rect.right <= ROOM.right + 1e-3
            assert rect.y >= ROOM.y - 1e-3
            assert rect.bottom <= ROOM.bottom + 1e-3
        for place, one in enumerate(rects):
            for other in rects[:place]:
                assert overlap(one, other) < 1e-2


def test_no_values() -> None:
    assert squarified([], ROOM) == []
    assert [area(rect) for rect in squarified([0, 0], ROOM)] == [0, 0]
    assert side_by_side([], ROOM) == []


def test_equal_layers_are_in_reading_order() -> None:
    layers = tuple(Area(f"layer.{n}", str(n), 5.0, (), True) for n in range(12))
    cell = treemap(Area("layer", "layer", 60.0, layers), Rect(0, 0, 800, 300))
    assert [each.area.name for each in cell.cells] == [str(n) for n in range(12)]
    for one, other in pairwise(cell.cells):
        assert area(one.rect) == NEAR(area(other.rect), rel=1e-6)
        assert other.rect.y > one.rect.y + 1 or other.rect.x > one.rect.x + 1


def check(cell: Cell) -> None:
    for inner in cell.cells:
        assert inner.rect.x >= cell.rect.x
        assert inner.rect.right <= cell.rect.right + 1e-6
        assert inner.rect.y >= cell.rect.y
        assert inner.rect.bottom <= cell.rect.bottom + 1e-6
        if cell.title is not None:
            assert inner.rect.y >= cell.title.bottom - 1e-6
        check(inner)


@pytest.mark.parametrize("family", ["bert", "t5", "mixtral", "albert"])
def test_cells_are_inside_their_parents(family: str) -> None:
    for kind in AREA_KINDS:
        whole = areas_of(small(family), kind)
        assert whole.value > 0
        check(treemap(whole, Rect(0, 0, 900, 600)))


def test_parts_add_up_to_the_whole() -> None:
    for kind in AREA_KINDS:
        waiting = [areas_of(derived("bert-base-uncased"), kind)]
        for each in waiting:
            if each.parts:
                assert sum(part.value for part in each.parts) == NEAR(each.value)
            waiting += each.parts


def test_areas_of_bert() -> None:
    architecture = derived("bert-base-uncased")
    assert areas_of(architecture, "parameters").value == architecture.root.parameters
    assert areas_of(architecture, "memory").value == 4 * architecture.root.parameters
    # Half of the operations that torch's counter finds at 128 tokens, without the pooler's.
    assert areas_of(architecture, "macs").value == 22_348_431_360 // 2
    layer = areas_of(architecture, "parameters", path="encoder.layer.3")
    assert layer.value == 7_087_872
