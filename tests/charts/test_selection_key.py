"""Which keys a selection matches."""

import pytest

from bertviewer.charts.selection_key import SelectionKey, closest_keys

LAYERS = (SelectionKey("layer.0"), SelectionKey("layer.1"), SelectionKey("layer.10"))
PARTS = (*LAYERS, SelectionKey("layer.1.attention"), SelectionKey("layer.0.attention"))
TOKENS = (SelectionKey("a", token=1), SelectionKey("a", token=2), SelectionKey("b", token=2))
ROOT = (SelectionKey(""), SelectionKey("a"))
SHARED = (SelectionKey("group.0"),) * 12


@pytest.mark.parametrize(
    ("keys", "selection", "expected"),
    [
        # A module is matched by itself and by modules inside it.
        (LAYERS, SelectionKey("layer.1"), (1,)),
        (LAYERS, SelectionKey("layer.1.attention.self"), (1,)),
        (LAYERS, SelectionKey("layer.10"), (2,)),
        (LAYERS, SelectionKey("layer.2"), ()),
        (LAYERS, SelectionKey("layer"), ()),
        (LAYERS, SelectionKey(""), ()),
        (LAYERS, SelectionKey(), ()),
        (LAYERS, SelectionKey(token=1), ()),
        (LAYERS, SelectionKey("layer.0", token=4), (0,)),
        # The innermost module counts.
        (PARTS, SelectionKey("layer.1.attention.self"), (3,)),
        (PARTS, SelectionKey("layer.1.output"), (1,)),
        # No part may differ.
        (TOKENS, SelectionKey("a", token=2), (1,)),
        (TOKENS, SelectionKey("a"), (0, 1)),
        (TOKENS, SelectionKey(token=2, head=7), (1, 2)),
        (TOKENS, SelectionKey("b", token=1), ()),
        # The root is matched only by itself.
        (ROOT, SelectionKey(""), (0,)),
        (ROOT, SelectionKey("a"), (1,)),
        (ROOT, SelectionKey("b"), ()),
        # A module of all keys distinguishes none.
        (SHARED, SelectionKey("group.0"), ()),
        (SHARED[:1], SelectionKey("group.0"), (0,)),
        ((), SelectionKey("group.0"), ()),
    ],
)
def test_the_closest_keys(
    keys: tuple[SelectionKey, ...], selection: SelectionKey, expected: tuple[int, ...]
) -> None:
    assert closest_keys(keys, selection) == expected


def test_merged_keys_keep_the_parts_of_the_first() -> None:
    merged = SelectionKey("a", token=0).merged(SelectionKey("b", token=5, head=0))
    assert merged == SelectionKey("a", token=0, head=0)
    assert SelectionKey().merged(SelectionKey(feature=3)) == SelectionKey(feature=3)
