"""Scores of classes and of the vocabulary."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from msgspec.structs import replace

from bertviewer.core.analysis.predictions import (
    LONGEST_ANSWER,
    ClassScores,
    VocabularyScores,
    classification,
)
from bertviewer.core.replay.predictions import predictions_at
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.source_info import SourceInfo
from tests.core.analysis.runs import run_of, tokens_of
from tests.core.formulas.formula_models import architecture_of
from tests.core.replay.model_runs import Opened, known, opened


def scores_of(it: Opened) -> ClassScores:
    found = classification(it.run, it.model.architecture)
    assert found is not None
    return found


def test_classes_of_the_text() -> None:
    labels = {0: "bad", 1: "so so", 2: "good"}
    it = opened("bert", "sequence-classification", id2label=labels)
    found = scores_of(it)
    logits = it.plain()["logits"]
    assert found.of == "text"
    assert found.labels == ("bad", "so so", "good")
    assert found.logits == pytest.approx(logits.numpy())
    assert found.probabilities == pytest.approx(logits.softmax(-1).numpy(), rel=1e-5)
    assert found.best == (int(logits.argmax()),)
    assert found.tokens == ()


def test_labels_that_exclude_nothing_are_judged_apart() -> None:
    it = opened("bert", "sequence-classification", problem_type="multi_label_classification")
    assert scores_of(it).probabilities == pytest.approx(
        it.plain()["logits"].sigmoid().numpy(), rel=1e-5
    )


@pytest.mark.parametrize("changes", [{"num_labels": 1}, {"problem_type": "regression"}])
def test_a_regression_has_a_value_and_no_probability(changes: dict[str, Any]) -> None:
    it = opened("bert", "sequence-classification", **changes)
    found = scores_of(it)
    assert found.probabilities is None
    assert found.logits == pytest.approx(it.plain()["logits"].numpy())


@pytest.mark.parametrize(
    ("family", "task", "key"),
    [
        ("bert", "next-sentence", "logits"),
        ("bert", "pretraining", "seq_relationship_logits"),
        ("albert", "pretraining", "sop_logits"),
    ],
)
def test_the_next_sentence(family: str, task: str, key: str) -> None:
    it = known(family, task)
    found = scores_of(it)
    assert found.of == "next sentence"
    assert found.labels[0] == ("is the next sentence" if family == "bert" else "in order")
    assert found.probabilities == pytest.approx(it.plain()[key].softmax(-1).numpy(), rel=1e-5)


def test_classes_of_each_token() -> None:
    it = known("distilbert", "token-classification")
    found = scores_of(it)
    logits = it.plain()["logits"][0]
    assert found.tokens == tuple(range(len(it.run.tokens)))
    assert found.probabilities == pytest.approx(logits.softmax(-1).numpy(), rel=1e-5)
    assert found.best == tuple(logits.argmax(-1).tolist())


def test_replaced_tokens() -> None:
    it = known("electra", "pretraining")
    found = scores_of(it)
    assert found.labels == ("replaced",)
    assert found.probabilities is not None
    assert found.probabilities[:, 0] == pytest.approx(
        it.plain()["logits"][0].sigmoid().numpy(), rel=1e-5
    )


def test_an_answer() -> None:
    it = known("bert", "question-answering")
    found = scores_of(it)
    output = it.plain()
    starts, ends = output["start_logits"][0], output["end_logits"][0]
    assert found.probabilities == pytest.approx(
        torch.stack([starts.softmax(0), ends.softmax(0)], 1).numpy(), rel=1e-5
    )
    context = [p for p, t in enumerate(it.run.tokens) if t.segment == 1 and not t.is_special]
    spans = {(i, j): float(starts[i] + ends[j]) for i in context for j in context if i <= j}
    assert found.answer == max(spans, key=lambda span: spans[span])


def answered(
    starts: list[float], ends: list[float], texts: str, segments: str, sentences: str = ""
) -> ClassScores:
    source = SourceInfo("config", "x", "question-answering", "random")
    tokens = tokens_of(*texts.split(), segments=segments, sentences=sentences)
    run = run_of(tokens, pair="b")
    outputs = {"start_logits": np.array([starts]), "end_logits": np.array([ends])}
    found = classification(
        replace(run, source=source, outputs=outputs), architecture_of("bert", "question-answering")
    )
    assert found is not None
    return found


def test_an_answer_is_in_the_second_text_and_in_order() -> None:
    texts, segments = "[CLS] a [SEP] b c d [SEP]", "0001111"
    assert answered([9, 9, 9, 1, 2, 3, 9], [9, 9, 9, 3, 2, 1, 9], texts, segments).answer == (3, 3)
    # The best start stands behind the best end.
    found = answered([0, 0, 0, 0, 0, 4, 0], [0, 0, 0, 5, 0, 0, 0], texts, segments)
    assert found.answer == (3, 3)
    # A family that does not tell segments apart.
    found = answered([0, 9, 0, 0, 1, 0, 0], [0, 9, 0, 0, 0, 1, 0], texts, "0000000", segments)
    assert found.answer == (4, 5)
    # And one that puts nothing between the texts, as mBART does.
    found = answered([9, 1, 2, 0], [9, 1, 2, 0], "a b c </s>", "0000", "0110")
    assert found.answer == (2, 2)
    assert answered([math.nan] * 7, [0] * 7, texts, segments).answer is None


def test_an_answer_is_not_too_long() -> None:
    count = LONGEST_ANSWER + 2
    starts, ends = [0.0] * count, [0.0] * count
    starts[1] = ends[-1] = 5
    starts[0] = 1
    texts = " ".join(["[SEP]", *["a"] * (count - 1)])
    found = answered(starts, ends, texts, "0" + "1" * (count - 1))
    assert found.answer is not None
    start, end = found.answer
    assert end - start < LONGEST_ANSWER
    assert 5 in (starts[start], ends[end])


@pytest.mark.parametrize(
    ("family", "task"), [("bert", "base"), ("bert", "masked-lm"), ("t5", "pretraining")]
)
def test_models_without_classes(family: str, task: str) -> None:
    it = known(family, task)
    assert classification(it.run, it.model.architecture) is None


def told(run: ActivationRun, *names: str) -> ActivationRun:
    return replace(run, source=replace(run.source, random_tensors=names))


def test_random_tensors_are_told() -> None:
    it = known("bert", "pretraining")
    run = told(it.run, "cls.predictions.bias", "cls.seq_relationship.bias", "bert.pooler.bias")
    found = classification(run, it.model.architecture)
    assert found is not None
    assert found.random_tensors == ("cls.seq_relationship.bias", "bert.pooler.bias")


def test_infinite_scores() -> None:
    it = known("bert", "sequence-classification")
    run = replace(it.run, outputs={"logits": np.array([[np.inf, 1.0]])})
    found = classification(run, it.model.architecture)
    assert found is not None
    assert found.probabilities is not None
    assert np.isnan(found.probabilities[0, 0])


def vocabulary_scores(logits: torch.Tensor) -> VocabularyScores:
    return VocabularyScores(logits.numpy(), logits.double().logsumexp(-1).numpy())


def test_probabilities_and_ranks_of_all_tokens_are_torchs() -> None:
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(2)) * 5
    scores = vocabulary_scores(logits)
    probabilities = logits.double().softmax(-1)
    order = logits.argsort(-1, descending=True)
    for state in range(3):
        for rank, token in enumerate(order[state].tolist(), start=1):
            assert scores.logit(token, state) == float(logits[state, token])
            expected = float(probabilities[state, token])
            assert scores.probability(token, state) == pytest.approx(expected, rel=1e-12)
            assert scores.rank(token, state) == rank


def test_the_same_score_shares_the_best_rank() -> None:
    scores = vocabulary_scores(torch.tensor([[1.0, 2.0, 2.0, 0.0]]))
    assert [scores.rank(token) for token in range(4)] == [3, 1, 1, 4]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_there_is_none_where_scores_are_not_finite(bad: float) -> None:
    scores = vocabulary_scores(torch.tensor([[0.0, bad], [0.0, 1.0]]))
    assert (scores.probability(0, 0), scores.rank(0, 0)) == (None, None)
    assert scores.rank(0, 1) == 2


def test_predictions_carry_those_of_every_layer() -> None:
    it = known("bert", "masked-lm")
    found = predictions_at(it, 2)
    assert found.scores is not None
    for state, guess in enumerate(found.layers):
        for rank, one in enumerate(guess.top, start=1):
            assert found.scores.rank(one.id, state) == rank
            assert found.scores.logit(one.id, state) == one.logit
            assert found.scores.probability(one.id, state) == pytest.approx(
                one.probability, rel=1e-12
            )
