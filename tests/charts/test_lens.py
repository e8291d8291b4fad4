"""Charts of the logit lens: a line for each token that is followed."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.labels import names_of_states
from bertviewer.charts.predictions import FollowedToken, expected_id, lens_chart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import TracedToken, path_charts
from bertviewer.core.replay.predictions import predictions_at
from tests.core.replay.model_runs import known


def test_probabilities_and_ranks_layer_by_layer() -> None:
    it = known("bert", "masked-lm")
    found = predictions_at(it, 3)
    logits = it.plain()["logits"][0, 3].double()
    followed = [FollowedToken(7, "seven"), FollowedToken(int(logits.argmax()), "best")]
    chart = lens_chart(it.run, found, followed, "probability")
    assert [line.label for line in chart.lines] == ["seven", "best"]
    assert chart.ticks[0] == "emb"
    assert len(chart.ticks) == len(it.run.hidden_states)
    for line, one in zip(chart.lines, followed, strict=True):
        assert line.values[-1] == pytest.approx(float(logits.softmax(-1)[one.id]), rel=1e-4)
        assert line.keys[1] == SelectionKey(it.run.state_path(1, 3), 3)
    ranks = lens_chart(it.run, found, followed, "rank")
    assert ranks.is_log
    assert ranks.bounds == (1.0, logits.numel())
    assert chart.bounds == (0.0, 1.0)
    assert ranks.lines[1].values[-1] == 1
    assert ranks.lines[0].values[-1] == 1 + int(np.count_nonzero(logits > logits[7]))


def test_states_have_the_names_that_other_views_give_them() -> None:
    it = known("gpt2", "pretraining")
    found = predictions_at(it, 1)
    last = names_of_states(it.run)[-1]
    assert last.endswith(", after ln_f")
    followed = [FollowedToken(7, "seven")]
    for chart in (
        lens_chart(it.run, found, followed, "probability"),
        lens_chart(it.run, found, followed, "rank"),
    ):
        assert chart.names == path_charts(it.run, [TracedToken(1, "it", 0)]).norms.names
        assert f"layer {chart.names[-1]}" == last
        number = last.removesuffix(", after ln_f")
        assert f"layer {chart.ticks[-1]}" in (number, f"{number}+ln_f")


def test_no_layers_no_points() -> None:
    it = known("bert", "masked-lm")
    found = replace(predictions_at(it, 3), layers=())
    assert lens_chart(it.run, found, [FollowedToken(7, "seven")], "rank").lines[0].values == ()


def test_what_should_be_predicted() -> None:
    it = known("gpt2", "pretraining")
    found = predictions_at(it, 1)
    assert expected_id(it.run, found) == it.run.tokens[2].id
    last = predictions_at(it, len(it.run.tokens) - 1)
    assert expected_id(it.run, last) is None


def test_behind_a_mask_it_is_not_known() -> None:
    it = known("bert", "masked-lm")
    found = predictions_at(it, 2)
    tokens = list(it.run.tokens)
    assert expected_id(it.run, found) == tokens[2].id
    tokens[2] = replace(tokens[2], text="[MASK]")
    assert expected_id(replace(it.run, tokens=tuple(tokens)), found) is None
