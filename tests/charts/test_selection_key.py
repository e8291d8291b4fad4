"""Which keys a selection matches."""

import pytest

from bertviewer.charts.selection_key import SelectionKey, closest_keys

LAYERS = (SelectionKey("layer.0"), SelectionKey("layer.1"), SelectionKey("layer.10"))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (SelectionKey("layer.1"), (1,)),
        (SelectionKey("layer.1.attention.self"), (1,)),
        (SelectionKey("layer.10"), (2,)),
        (SelectionKey("layer.2"), ()),
        (SelectionKey("layer"), ()),
        (SelectionKey(""), ()),
        (SelectionKey(), ()),
        (SelectionKey(token=1), ()),
        (SelectionKey("layer.0", token=4), (0,)),
    ],
)
def test_a_module_is_met_by_itself_and_by_what_is_inside(
    selection: SelectionKey, expected: tuple[int, ...]
) -> None:
    assert closest_keys(LAYERS, selection) == expected


def test_the_closest_module_counts() -> None:
    places = (*LAYERS, SelectionKey("layer.1.attention"), SelectionKey("layer.0.attention"))
    assert closest_keys(places, SelectionKey("layer.1.attention.self")) == (3,)
    assert closest_keys(places, SelectionKey("layer.1.output")) == (1,)


def test_no_part_may_differ() -> None:
    places = (SelectionKey("a", token=1), SelectionKey("a", token=2), SelectionKey("b", token=2))
    assert closest_keys(places, SelectionKey("a", token=2)) == (1,)
    assert closest_keys(places, SelectionKey("a")) == (0, 1)
    assert closest_keys(places, SelectionKey(token=2, head=7)) == (1, 2)
    assert closest_keys(places, SelectionKey("b", token=1)) == ()


def test_the_root_is_met_by_itself_only() -> None:
    places = (SelectionKey(""), SelectionKey("a"))
    assert closest_keys(places, SelectionKey("")) == (0,)
    assert closest_keys(places, SelectionKey("a")) == (1,)
    assert closest_keys(places, SelectionKey("b")) == ()


def test_what_all_share_tells_none_apart() -> None:
    shared = (SelectionKey("group.0"),) * 12
    assert closest_keys(shared, SelectionKey("group.0")) == ()
    assert closest_keys(shared[:1], SelectionKey("group.0")) == (0,)
    assert closest_keys((), SelectionKey("group.0")) == ()
