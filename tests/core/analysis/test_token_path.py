"""One token's way through the states."""

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.analysis.similarity import token_path
from tests.core.analysis.runs import demo_run, plain_cosine, run_of, tokens_of


def test_a_path_worked_by_hand() -> None:
    run = run_of(
        tokens_of("x", "y"),
        [[9.0, 9.0], [3.0, 4.0]],
        [[9.0, 9.0], [0.0, 2.0]],
        [[9.0, 9.0], [-6.0, -8.0]],
    )
    path = token_path(run, 1)
    assert path.norms == (5.0, 2.0, 10.0)
    assert path.to_start == pytest.approx((1.0, 0.8, -1.0))
    assert path.to_before[0] is None
    assert path.to_before[1:] == pytest.approx((0.8, -0.8))


def test_a_state_that_is_not_there_leaves_gaps() -> None:
    path = token_path(run_of(tokens_of("x"), [[1.0, 0.0]], [[np.nan, np.nan]], [[0.0, 0.0]]), 0)
    assert path.norms == (1.0, None, 0.0)
    assert path.to_start == (1.0, None, None)
    assert path.to_before == (None, None, None)


def test_without_states_the_norms_remain() -> None:
    run = run_of(tokens_of("x"), [[3.0, 4.0]], [[0.0, 1.0]])
    path = token_path(replace(run, hidden_states=()), 0)
    assert path.norms == (5.0, 1.0)
    assert path.to_start == path.to_before == (None, None)


def test_the_path_of_the_demo_is_the_plain_one() -> None:
    run = demo_run("the cat sat on the mat")
    path = token_path(run, 2)
    vectors = [state[2] for state in run.hidden_states]
    assert path.norms == pytest.approx([float(np.linalg.norm(v)) for v in vectors])
    starts = [plain_cosine(vectors[0], v) for v in vectors]
    assert path.to_start == pytest.approx(starts, abs=1e-12)
    befores = [plain_cosine(a, b) for a, b in pairwise(vectors)]
    assert path.to_before[1:] == pytest.approx(befores, abs=1e-12)
