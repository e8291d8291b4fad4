"""Measures that colour tokens: their values and positions between the bounds."""

from math import inf

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.token_measures import (
    attention_measure,
    cosine_measure,
    no_measure,
    norm_measure,
    probability_measure,
    segment_measure,
    state_for,
)
from bertviewer.core.analysis.attention_maps import Received
from tests.core.analysis.runs import plain_cosine, run_of, tokens_of

START = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
END = np.array([[0.0, 2.0], [0.0, 1.0], [6.0, 8.0]])
RUN = replace(
    run_of(tokens_of("[CLS]", "a", "b", segments="001"), START, END),
    state_paths=(("embeddings",), ("layer.0",)),
)


@pytest.mark.parametrize(
    ("path", "state"),
    [("layer.0.attention", 1), ("embeddings.words", 0), ("", 1), (None, 1), ("pooler", 1)],
)
def test_measures_are_of_the_selected_layer_or_the_last(path: str | None, state: int) -> None:
    assert state_for(RUN, path) == state


def test_a_run_without_states_has_none() -> None:
    assert state_for(replace(RUN, token_norms=()), "layer.0") is None
    assert norm_measure(RUN, None).values == ()


def test_norms() -> None:
    measure = norm_measure(RUN, 1)
    assert measure.title == "‖h‖ after layer 0"
    assert measure.values == (2.0, 1.0, 10.0)
    assert [measure.share(token) for token in range(3)] == [pytest.approx(1 / 9), 0.0, 1.0]
    assert measure.text(2) == "‖h‖ after layer 0: 10"


def test_cosines_to_the_start() -> None:
    measure = cosine_measure(RUN, 1)
    wanted = [plain_cosine(end, start) for end, start in zip(END, START, strict=True)]
    assert measure.values == pytest.approx(wanted)


def test_values_that_are_not_finite_have_no_colour() -> None:
    run = replace(RUN, token_norms=((1.0, None, inf),))
    measure = norm_measure(run, 0)
    assert measure.values == (1.0, None, None)
    assert [measure.share(token) for token in range(4)] == [0.5, None, None, None]
    assert measure.text(1) == ""


def test_attention_received() -> None:
    received = Received(np.array([[0.5, 0.5], [0.25, 0.75]]), (1, 2))
    measure = attention_measure(RUN, received, 1, "layer 0")
    assert measure.values == (None, 0.25, 0.75)
    assert measure.title == "attention received, layer 0, head 1"
    # Another layer may have fewer heads.
    assert attention_measure(RUN, received, 11, "layer 0").values == (None, 0.25, 0.75)


def test_probabilities_are_between_0_and_1() -> None:
    measure = probability_measure((None, 0.25, 1.0))
    assert [measure.share(token) for token in range(3)] == [None, 0.25, 1.0]


def test_segments_are_categories() -> None:
    measure = segment_measure(RUN)
    assert measure.are_kinds
    assert measure.values == (0, 0, 1)


def test_no_measure() -> None:
    assert no_measure().share(0) is None
    assert no_measure().text(0) == ""
