"""What is selected is found again by its key."""

from collections.abc import Iterator

import pytest

from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.ui.state.selection import Selection, find
from tests.core.opened import plain


def rows_of(row: TreeRow) -> Iterator[TreeRow]:
    yield row
    for child in row.members or row.children:
        yield from rows_of(child)


@pytest.mark.parametrize("name", ["bert-base-uncased", "transformer-base", "albert-base-v2"])
def test_every_row_is_found_by_its_key(name: str) -> None:
    tree = fold(plain(name))
    for row in rows_of(tree):
        assert find(tree, row.key) is row
    assert find(tree, "encoder.layer.1000") is None
    assert find(tree, "no such row") is None


def test_the_same_row_stays_selected_in_a_new_tree_of_the_model() -> None:
    selection = Selection()
    selection.set_tree(fold(plain("bert-base-uncased")))
    selection.select("encoder.layer[0–11]")
    before = selection.row
    selection.exchange_tree(fold(plain("bert-base-uncased")))
    assert selection.row == before
    assert selection.row is not before
