"""Tables and charts of vocabulary heads."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.labels import names_of_states
from bertviewer.charts.predictions import (
    FollowedToken,
    actual_summary,
    candidates_table,
    expected_id,
    followed_tokens,
    lens_chart,
    lens_table,
)
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import DataTable
from bertviewer.charts.token_charts import TracedToken, path_charts
from bertviewer.core.replay.predictions import predictions_at
from tests.core.replay.model_runs import known

TOKEN = "Token predicted at sat (2)"


def column(table: DataTable, title: str) -> list[object]:
    header, rows = table.table()
    return [row[header.index(title)] for row in rows]


def test_the_likeliest_tokens_and_the_actual_one() -> None:
    it = known("bert", "masked-lm")
    found = predictions_at(it, 2)
    table = candidates_table(it.run, found)
    logits = it.plain()["logits"][0, 2].double()
    best = logits.topk(10).indices.tolist()
    actual = it.run.tokens[2]
    extra = [] if actual.id in best else [actual.id]
    chances = logits.softmax(-1)
    assert column(table, "Probability") == pytest.approx(
        [float(chances[n]) for n in (*best, *extra)], rel=1e-4
    )
    assert column(table, "Logit") == pytest.approx(
        [float(logits[n]) for n in (*best, *extra)], rel=1e-4, abs=1e-5
    )
    ranks = [1 + int((logits > logits[n]).sum()) for n in (*best, *extra)]
    assert column(table, "Rank") == ranks
    bold = [row[1].value for row in table.rows if row[1].is_bold]
    assert bold == [actual.text]
    assert f"{ranks[-1]:,}" in actual_summary(it.run, found) or not extra


def test_the_likeliest_tokens_of_two_runs() -> None:
    it = known("bert", "masked-lm")
    b, a = predictions_at(it, 2), predictions_at(it, 4)
    table = candidates_table(it.run, b, a, is_compared=True)
    logits = it.plain()["logits"][0].double().softmax(-1)
    ids = [one.id for one in b.guess.top]
    mine, others = column(table, "B, Probability"), column(table, "A, Probability")
    assert mine[:10] == pytest.approx([float(logits[2, n]) for n in ids], rel=1e-4)
    assert others[:10] == pytest.approx([float(logits[4, n]) for n in ids], rel=1e-4)
    less = column(table, "B − A, Probability")
    for x, y, z in zip(mine, others, less, strict=True):
        assert isinstance(x, float)
        assert isinstance(y, float)
        assert z == x - y
    # Tokens that are likely in A only are included.
    assert {one.text for one in a.guess.top} <= set(column(table, TOKEN))
    without = candidates_table(it.run, b, None, is_compared=True)
    assert set(column(without, "A, Probability")) == {None}
    titles = [one.title for one in table.columns]
    assert titles == ["Rank", "Token", "B", "A", "B − A", "Logit"]
    names, _ = table.table()
    assert (names[0], names[-1]) == ("B, Rank", "B, Logit")


def test_rows_of_the_lens_begin_with_the_last_layer() -> None:
    it = known("bert", "masked-lm")
    found = predictions_at(it, 2)
    table = lens_table(it.run, found)
    states = len(it.run.hidden_states)
    layers = [*map(str, reversed(range(states - 1))), "emb"]
    assert column(table, f"Layer × Rank: {TOKEN}") == layers
    for row, guess in zip(table.rows, reversed(found.layers), strict=True):
        assert [cell.value for cell in row[1:]] == [one.text for one in guess.top[:5]]
        assert [cell.share for cell in row[1:]] == [one.probability for one in guess.top[:5]]
        followed = [one.id == it.run.tokens[2].id for one in guess.top[:5]]
        assert [cell.is_bold for cell in row[1:]] == followed
    assert lens_table(it.run, found, "A").table()[0][0] == f"Layer × Rank: A, {TOKEN}"
    assert table.keys[0] == SelectionKey(it.run.state_path(states - 1, 2))


def test_the_lens_names_a_state_that_is_after_the_final_norm() -> None:
    it = known("gpt2", "pretraining")
    cell = lens_table(it.run, predictions_at(it, 1)).rows[0][0]
    last = len(it.run.hidden_states) - 2
    name = f"{last}, after ln_f"
    assert (cell.value, cell.text, cell.tip) == (name, f"{last}+ln_f", f"layer {name}")


def test_which_tokens_are_followed() -> None:
    it = known("gpt2", "pretraining")
    found = predictions_at(it, 1)
    first, *rest = followed_tokens(it.run, found, 2)
    assert first.id == it.run.tokens[2].id
    assert "actual" in first.label
    assert [one.id for one in rest] == [one.id for one in found.guess.top if one.id != first.id][:2]
    tokens = list(it.run.tokens)
    tokens[2] = replace(tokens[2], text="##م")
    arabic = replace(it.run, tokens=tuple(tokens))
    assert followed_tokens(arabic, found, 0)[0].label == "\u2066##م\u2069 (actual)"
    assert actual_summary(arabic, found).startswith("Actual: \u2066##م\u2069, rank ")
    last = predictions_at(it, len(it.run.tokens) - 1)
    assert [one.id for one in followed_tokens(it.run, last, 1)] == [last.guess.top[0].id]
    assert actual_summary(it.run, last) == ""


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


def test_states_have_the_same_names_as_in_other_charts() -> None:
    it = known("gpt2", "pretraining")
    last = names_of_states(it.run)[-1]
    assert last.endswith(", after ln_f")
    names = path_charts(it.run, [TracedToken(1, "it", 0)]).norms.names
    for measure in ("probability", "rank"):
        chart = lens_chart(it.run, predictions_at(it, 1), [FollowedToken(7, "seven")], measure)
        assert chart.names == names
        assert f"layer {chart.names[-1]}" == last
        number = last.removesuffix(", after ln_f")
        assert f"layer {chart.ticks[-1]}" in (number, f"{number}+ln_f")


def test_predictions_without_layers_have_no_lens() -> None:
    it = known("bert", "masked-lm")
    found = replace(predictions_at(it, 3), layers=())
    assert lens_table(it.run, found).rows == ()
    assert lens_chart(it.run, found, [FollowedToken(7, "seven")], "rank").lines[0].values == ()


def test_the_expected_token() -> None:
    it = known("gpt2", "pretraining")
    assert expected_id(it.run, predictions_at(it, 1)) == it.run.tokens[2].id
    assert expected_id(it.run, predictions_at(it, len(it.run.tokens) - 1)) is None
    it = known("bert", "masked-lm")
    found, tokens = predictions_at(it, 2), list(it.run.tokens)
    assert expected_id(it.run, found) == tokens[2].id
    tokens[2] = replace(tokens[2], text="[MASK]")  # hides it
    assert expected_id(replace(it.run, tokens=tuple(tokens)), found) is None
