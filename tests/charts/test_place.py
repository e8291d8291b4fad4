import pytest

from bertviewer.charts.place import Place, closest

LAYERS = (Place("layer.0"), Place("layer.1"), Place("layer.10"))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Place("layer.1"), (1,)),
        (Place("layer.1.attention.self"), (1,)),
        (Place("layer.10"), (2,)),
        (Place("layer.2"), ()),
        (Place("layer"), ()),
        (Place(""), ()),
        (Place(), ()),
        (Place(token=1), ()),
        (Place("layer.0", token=4), (0,)),
    ],
)
def test_a_module_is_met_by_itself_and_by_what_is_inside(
    selection: Place, expected: tuple[int, ...]
) -> None:
    assert closest(LAYERS, selection) == expected


def test_the_closest_module_counts() -> None:
    places = (*LAYERS, Place("layer.1.attention"), Place("layer.0.attention"))
    assert closest(places, Place("layer.1.attention.self")) == (3,)
    assert closest(places, Place("layer.1.output")) == (1,)


def test_no_part_may_differ() -> None:
    places = (Place("a", token=1), Place("a", token=2), Place("b", token=2))
    assert closest(places, Place("a", token=2)) == (1,)
    assert closest(places, Place("a")) == (0, 1)
    assert closest(places, Place(token=2, head=7)) == (1, 2)
    assert closest(places, Place("b", token=1)) == ()


def test_the_root_is_met_by_itself_only() -> None:
    places = (Place(""), Place("a"))
    assert closest(places, Place("")) == (0,)
    assert closest(places, Place("a")) == (1,)
    assert closest(places, Place("b")) == ()


def test_what_all_share_tells_none_apart() -> None:
    shared = (Place("group.0"),) * 12
    assert closest(shared, Place("group.0")) == ()
    assert closest(shared[:1], Place("group.0")) == (0,)
    assert closest((), Place("group.0")) == ()
