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
from tests.charts.described import Golden, described
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


def test_measures(golden: Golden) -> None:
    received = Received(np.array([[0.5, 0.5], [0.25, 0.75]]), (1, 2))
    gaps = replace(RUN, token_norms=((1.0, None, inf),))
    measures = {
        "norms": norm_measure(RUN, 1),
        "norms that are not finite": norm_measure(gaps, 0),
        "attention": attention_measure(RUN, received, 1, "layer 0"),
        # Another layer may have fewer heads.
        "attention of the last head": attention_measure(RUN, received, 11, "layer 0"),
        "probabilities": probability_measure((None, 0.25, 1.0)),
        "segments": segment_measure(RUN),
        "nothing": no_measure(),
    }
    tokens = {
        name: [(measure.share(token), measure.text(token)) for token in range(4)]
        for name, measure in measures.items()
    }
    text = described(measures) + "".join(f"{name}: {each}\n" for name, each in tokens.items())
    golden("charts/token measures.txt", text)


def test_cosines_to_the_start() -> None:
    measure = cosine_measure(RUN, 1)
    wanted = [plain_cosine(end, start) for end, start in zip(END, START, strict=True)]
    assert measure.values == pytest.approx(wanted)
