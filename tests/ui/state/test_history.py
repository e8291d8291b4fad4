"""Back and forward among the modules that were selected."""

import pytest

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.state.selection import MAX_HISTORY, History, Selection
from tests.core.opened import plain


@pytest.fixture
def selection() -> Selection:
    selection = Selection()
    selection.set_tree(fold(plain("bert-base-uncased")))
    return selection


@pytest.fixture
def history(selection: Selection) -> History:
    history = History(selection)
    selection.row_changed.emit()  # as when a model was opened
    return history


def at(selection: Selection) -> str:
    assert selection.row is not None
    return selection.row.key


def test_back_and_forward(selection: Selection, history: History) -> None:
    assert not history.can_go_back
    for key in ("embeddings", "encoder.layer[0–11]", "encoder.layer.3"):
        selection.select(key)
    history.back()
    history.back()
    assert at(selection) == "embeddings"
    assert history.can_go_forward
    history.forward()
    assert at(selection) == "encoder.layer[0–11]"
    history.back()
    history.back()
    assert at(selection) == ""
    assert not history.can_go_back
    history.back()
    assert at(selection) == ""


def test_a_new_way_forgets_the_one_that_was_left(selection: Selection, history: History) -> None:
    for key in ("embeddings", "encoder"):
        selection.select(key)
    history.back()
    selection.select("pooler")
    assert not history.can_go_forward
    history.forward()
    assert at(selection) == "pooler"
    history.back()
    assert at(selection) == "embeddings"


def test_what_another_head_does_not_have_is_passed_by(
    selection: Selection, history: History
) -> None:
    for key in ("encoder", "pooler", "embeddings"):
        selection.select(key)
    tree = fold(plain("distilbert-base-uncased"))  # without an encoder and a pooler
    selection.set_tree(tree)
    selection.select("embeddings")
    history.back()
    assert at(selection) == ""
    assert not history.can_go_back


def test_recent_places_are_the_last_ones_each_once(selection: Selection, history: History) -> None:
    for key in ("encoder", "pooler", "encoder", "embeddings", "pooler"):
        selection.select(key)
    assert history.recent(2) == ("embeddings", "encoder")
    assert history.recent(9) == ("embeddings", "encoder", "")


def test_the_oldest_places_are_forgotten(selection: Selection, history: History) -> None:
    for number in range(MAX_HISTORY + 5):
        selection.select("encoder" if number % 2 else "pooler")
    steps = 0
    while history.can_go_back:
        history.back()
        steps += 1
    assert steps == MAX_HISTORY - 1


def test_another_model_begins_anew(selection: Selection, history: History) -> None:
    selection.select("encoder")
    history.forget()
    assert not history.can_go_back
    assert history.recent(5) == ()
    selection.select("pooler")
    assert not history.can_go_back
