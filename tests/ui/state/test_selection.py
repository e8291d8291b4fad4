"""Selection of a module, and the history of selected modules."""

from collections.abc import Iterator

import pytest

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.ui.state.selection import MAX_HISTORY, History, Selection, find
from tests.core.opened import plain


@pytest.fixture
def selection() -> Selection:
    selection = Selection()
    selection.set_tree(fold(plain("bert-base-uncased")))
    return selection


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


def test_the_selected_row_stays_selected_in_a_new_tree_of_the_model(selection: Selection) -> None:
    selection.select("encoder.layer[0–11]")
    before = selection.row
    selection.exchange_tree(fold(plain("bert-base-uncased")))
    assert selection.row == before
    assert selection.row is not before


def test_each_part_of_a_key_is_selected_and_emitted_only_if_it_differs(
    selection: Selection,
) -> None:
    emitted: list[str] = []
    for name in ("row", "token", "head", "feature"):
        signal = getattr(selection, f"{name}_changed")
        signal.connect(lambda name=name: emitted.append(name))
    selection.set_tokens(5, 1)
    selection.go(SelectionKey("pooler", token=4, head=2, feature=7))
    assert selection.place == SelectionKey("pooler", 4, 2, 7)
    selection.go(SelectionKey("pooler", token=4, head=3, feature=7))
    assert emitted == ["row", "token", "head", "feature", "head"]
    for token in (5, -1):  # a view may still show the tokens of the last run
        selection.go(SelectionKey(token=token))
    assert selection.token == 4
    selection.clear_feature()
    selection.clear_feature()
    assert emitted[5:] == ["feature"]


@pytest.fixture
def history(selection: Selection) -> History:
    history = History(selection)
    selection.row_changed.emit()  # as when a model is opened
    return history


def test_back_and_forward(selection: Selection, history: History) -> None:
    assert not history.can_go_back
    for key in ("embeddings", "encoder.layer[0–11]", "encoder.layer.3"):
        selection.select(key)
    visited = []
    for step in (history.back, history.back, history.forward, history.back, history.back):
        step()
        visited.append(selection.place.path)
    folded = "encoder.layer.0"
    assert visited == [folded, "embeddings", folded, "embeddings", ""]
    assert not history.can_go_back
    assert history.can_go_forward
    history.back()
    assert selection.place.path == ""


def test_a_new_selection_replaces_those_that_were_gone_back_from(
    selection: Selection, history: History
) -> None:
    for key in ("embeddings", "encoder"):
        selection.select(key)
    history.back()
    selection.select("pooler")
    assert not history.can_go_forward
    history.back()
    assert selection.place.path == "embeddings"


def test_rows_that_another_head_lacks_are_skipped(selection: Selection, history: History) -> None:
    for key in ("encoder", "pooler", "embeddings"):
        selection.select(key)
    selection.set_tree(fold(plain("distilbert-base-uncased")))  # without encoder and pooler
    selection.select("embeddings")
    history.back()
    assert selection.place.path == ""
    assert not history.can_go_back


def test_recent_rows_are_the_latest_without_repetition(
    selection: Selection, history: History
) -> None:
    for key in ("encoder", "pooler", "encoder", "embeddings", "pooler"):
        selection.select(key)
    assert history.recent(2) == ("embeddings", "encoder")
    assert history.recent(9) == ("embeddings", "encoder", "")


def test_the_oldest_rows_are_dropped(selection: Selection, history: History) -> None:
    for number in range(MAX_HISTORY + 5):
        selection.select("encoder" if number % 2 else "pooler")
    steps = 0
    while history.can_go_back:
        history.back()
        steps += 1
    assert steps == MAX_HISTORY - 1


def test_the_history_of_another_model_starts_empty(selection: Selection, history: History) -> None:
    selection.select("encoder")
    history.forget()
    assert not history.can_go_back
    assert history.recent(5) == ()
    selection.select("pooler")
    assert not history.can_go_back
