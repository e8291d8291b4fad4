"""The ways of tokens as charts, against plain computations on the demo model."""

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import TracedToken, path_charts, state_keys
from tests.core.analysis.runs import demo_run, plain_cosine, run_of, tokens_of

X = TracedToken(0, "x", 0)
CAT, MAT = TracedToken(2, "cat", 0), TracedToken(6, "mat", 3)


def test_the_ways_of_two_tokens_of_the_demo() -> None:
    run = demo_run("the cat sat on the mat")
    charts = path_charts(run, (CAT, MAT))
    for token, norms, starts, befores in zip(
        (2, 6), charts.norms.lines, charts.to_start.lines, charts.to_before.lines, strict=True
    ):
        vectors = [state[token] for state in run.hidden_states]
        assert len(vectors) == 7
        assert norms.values == pytest.approx([float(np.linalg.norm(v)) for v in vectors])
        plain = [plain_cosine(vectors[0], v) for v in vectors]
        assert starts.values == pytest.approx(plain, abs=1e-12)
        assert befores.values[0] is None
        plain = [plain_cosine(*two) for two in pairwise(vectors)]
        assert befores.values[1:] == pytest.approx(plain, abs=1e-12)


def test_names_and_colours_are_those_that_were_asked_for() -> None:
    charts = path_charts(demo_run("the cat sat on the mat"), (CAT, MAT))
    for chart in (charts.norms, charts.to_start, charts.to_before):
        assert [(line.label, line.color) for line in chart.lines] == [("cat", 0), ("mat", 3)]
        assert chart.ticks == ("emb", "0", "1", "2", "3", "4", "5")
        assert chart.x_title == "Layer"
    assert charts.norms.y_title == "Norm"
    assert charts.to_start.y_title == "Cosine to embedding"
    assert charts.to_before.y_title == "Cosine to previous layer"


def test_points_stand_for_the_module_and_the_token() -> None:
    run = run_of(tokens_of("x", "y", segments="01"), np.eye(2), np.eye(2), np.eye(2))
    paths = (("embed",), ("", ""), ("encoder.1", "decoder.1"))
    run = replace(run, state_paths=paths)
    assert state_keys(run, 0) == (
        SelectionKey("embed", 0),
        SelectionKey(token=0),
        SelectionKey("encoder.1", 0),
    )
    charts = path_charts(run, (TracedToken(1, "y", 0),))
    assert charts.norms.names == charts.norms.ticks
    normed = path_charts(replace(run, state_paths=(*paths[:2], ("ln_f", "ln_f"))), (X,))
    assert normed.to_start.names == ("emb", "0", "1, after ln_f")
    assert normed.to_start.ticks == ("emb", "0", "1+ln_f")
    places = (SelectionKey("embed", 1), SelectionKey(token=1), SelectionKey("decoder.1", 1))
    assert charts.norms.lines[0].keys == charts.to_before.lines[0].keys == places


def test_where_one_stack_is_shorter_there_are_gaps() -> None:
    gone = [np.nan, np.nan]
    run = run_of(tokens_of("x", "y"), np.eye(2), [gone, [3.0, 4.0]], [gone, [0.0, 5.0]])
    charts = path_charts(run, (TracedToken(0, "x", 0), TracedToken(1, "y", 1)))
    assert [line.values for line in charts.norms.lines] == [(1.0, None, None), (1.0, 5.0, 5.0)]
    gaps, values = (line.values for line in charts.to_before.lines)
    assert gaps == (None, None, None)
    assert values[1:] == pytest.approx((0.8, 0.8))
