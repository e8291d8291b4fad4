"""What is remembered comes back as it was; what settings hold instead does no harm."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.shell.session import (
    MAX_CHARACTERS,
    ModelState,
    SessionState,
    WindowState,
)
from bertviewer.ui.state.run_input import MAX_SENTENCES

WHOLE = SessionState(
    WindowState(b"\1\xfe geometry", b"\0\xff layout"),
    ModelState("/a 模型/b", "masked-lm", "encoder.layer.0-5", ("", "encoder")),
    {"detailTabs": "Formula", "runViews": "Attention"},
    Sentence("the cat", "the dog"),
    (Sentence("one"), Sentence("two", "three")),
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def test_all_of_it_comes_back() -> None:
    assert SessionState.from_text(WHOLE.to_text()) == WHOLE
    assert SessionState.from_text(SessionState().to_text()) == SessionState()


@pytest.mark.parametrize("text", [None, 5, "", "{", "[]", "null", "[" * 100_000, ["{}"]])
def test_something_else_is_nothing(text: object) -> None:
    assert SessionState.from_text(text) == SessionState()


@given(
    part=st.sampled_from(["window", "model", "pages", "sentence", "history"]),
    inner=st.sampled_from([None, "geometry", "layout", "moved", "name", "row", "expanded"]),
    value=PLAIN,
)
def test_whatever_stands_in_a_part_the_others_are_taken(
    part: str, inner: str | None, value: object
) -> None:
    data: dict[str, Any] = json.loads(WHOLE.to_text())
    if inner is not None and isinstance(data[part], dict):
        data[part][inner] = value
    else:
        data[part] = value
    found = SessionState.from_text(json.dumps(data))
    for other in {"window", "model", "pages", "sentence", "history"} - {part}:
        assert getattr(found, other) == getattr(WHOLE, other)
    # What was taken can be written again, and is the same then.
    assert SessionState.from_text(found.to_text()) == found


@given(st.integers(0, 400), st.integers(1, 255))
def test_a_layout_that_was_damaged_is_left_out(place: int, change: int) -> None:
    layout = bytes(range(256)) * 2
    data = json.loads(replace(WHOLE, window=WindowState(layout=layout)).to_text())
    check, _, coded = data["window"]["layout"].partition(" ")
    damaged = bytearray(base64.b64decode(coded))
    damaged[place] ^= change
    data["window"]["layout"] = f"{check} {base64.b64encode(damaged).decode()}"
    assert SessionState.from_text(json.dumps(data)).window == WindowState()


def test_long_and_broken_sentences_are_not_kept() -> None:
    state = SessionState(sentence=Sentence("x" * (MAX_CHARACTERS + 1)))
    assert SessionState.from_text(state.to_text()).sentence == Sentence("")
    broken = json.dumps({"sentence": ["\ud800", None], "history": [["\ud800", None], ["a", None]]})
    found = SessionState.from_text(broken)
    assert found.sentence == Sentence("")
    assert found.history == (Sentence("a"),)


def test_the_history_is_not_endless() -> None:
    history = tuple(Sentence(str(number)) for number in range(MAX_SENTENCES + 9))
    found = SessionState.from_text(SessionState(history=history).to_text())
    assert found.history == history[-MAX_SENTENCES:]
