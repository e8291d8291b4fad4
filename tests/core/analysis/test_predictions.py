"""Scores of classes and of the vocabulary, compared with torch's."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from msgspec.structs import replace
from torch import Tensor

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


def opened_for(family: str, task: str, **changes: Any) -> Opened:
    return opened(family, task, **changes) if changes else known(family, task)


def scores_of(one: Opened, run: ActivationRun | None = None) -> ClassScores:
    found = classification(run or one.run, one.model.architecture)
    assert found is not None
    return found


LABELS = {0: "bad", 1: "so so", 2: "good"}
NEXT = ("is the next sentence", "is not the next sentence")


def softmax(logits: Tensor) -> Tensor:
    return logits.softmax(-1)


@pytest.mark.parametrize(
    ("family", "task", "changes", "of", "labels", "key", "probabilities"),
    [
        (
            *("bert", "sequence-classification", {"id2label": LABELS}),
            *("text", ("bad", "so so", "good"), "logits", softmax),
        ),
        (
            *("bert", "sequence-classification", {"problem_type": "multi_label_classification"}),
            *("text", ("LABEL_0", "LABEL_1"), "logits", torch.sigmoid),
        ),
        # A regression has no probabilities.
        (
            *("bert", "sequence-classification", {"num_labels": 1}),
            *("text", ("LABEL_0",), "logits", None),
        ),
        (
            *("bert", "sequence-classification", {"problem_type": "regression"}),
            *("text", ("LABEL_0", "LABEL_1"), "logits", None),
        ),
        ("bert", "next-sentence", {}, "next sentence", NEXT, "logits", softmax),
        ("bert", "pretraining", {}, "next sentence", NEXT, "seq_relationship_logits", softmax),
        (
            *("albert", "pretraining", {}),
            *("next sentence", ("in order", "swapped"), "sop_logits", softmax),
        ),
        (
            *("distilbert", "token-classification", {}),
            *("tokens", ("LABEL_0", "LABEL_1"), "logits", softmax),
        ),
        ("electra", "pretraining", {}, "tokens", ("replaced",), "logits", torch.sigmoid),
    ],
)
def test_scores_of_classes(  # noqa: PLR0917
    family: str,
    task: str,
    changes: dict[str, Any],
    of: str,
    labels: tuple[str, ...],
    key: str,
    probabilities: Callable[[Tensor], Tensor] | None,
) -> None:
    one = opened_for(family, task, **changes)
    found = scores_of(one)
    assert (found.of, found.labels) == (of, labels)
    logits = one.plain()[key]
    if of == "tokens":
        logits = logits[0].reshape(-1, len(labels))
        assert found.tokens == tuple(range(len(one.run.tokens)))
    else:
        assert found.tokens == ()
    assert found.logits == pytest.approx(logits.numpy())
    assert found.best == tuple(logits.argmax(-1).tolist())
    if probabilities is None:
        assert found.probabilities is None
    else:
        assert found.probabilities == pytest.approx(probabilities(logits).numpy(), rel=1e-5)


@pytest.mark.parametrize(
    ("family", "task"), [("bert", "base"), ("bert", "masked-lm"), ("t5", "pretraining")]
)
def test_models_without_classes(family: str, task: str) -> None:
    one = known(family, task)
    assert classification(one.run, one.model.architecture) is None


def test_the_answer_is_the_best_span_of_the_second_text() -> None:
    one = known("bert", "question-answering")
    found, output = scores_of(one), one.plain()
    starts, ends = output["start_logits"][0], output["end_logits"][0]
    assert found.probabilities == pytest.approx(
        torch.stack([starts.softmax(0), ends.softmax(0)], 1).numpy(), rel=1e-5
    )
    context = [p for p, t in enumerate(one.run.tokens) if t.segment == 1 and not t.is_special]
    spans = {(i, j): float(starts[i] + ends[j]) for i in context for j in context if i <= j}
    assert found.answer == max(spans, key=lambda span: spans[span])


def answer_of(
    starts: list[float], ends: list[float], texts: str, segments: str, sentences: str = ""
) -> tuple[int, int] | None:
    tokens = tokens_of(*texts.split(), segments=segments, sentences=sentences)
    source = SourceInfo("config", "x", "question-answering", "random")
    outputs = {"start_logits": np.array([starts]), "end_logits": np.array([ends])}
    run = replace(run_of(tokens, pair="b"), source=source, outputs=outputs)
    found = classification(run, architecture_of("bert", "question-answering"))
    assert found is not None
    return found.answer


def test_answers_of_other_families() -> None:
    texts, segments = "[CLS] a [SEP] b c d [SEP]", "0001111"
    assert answer_of([9, 9, 9, 1, 2, 3, 9], [9, 9, 9, 3, 2, 1, 9], texts, segments) == (3, 3)
    # The best start is after the best end.
    assert answer_of([0, 0, 0, 0, 0, 4, 0], [0, 0, 0, 5, 0, 0, 0], texts, segments) == (3, 3)
    # One segment for both texts, as in RoBERTa.
    found = answer_of([0, 9, 0, 0, 1, 0, 0], [0, 9, 0, 0, 0, 1, 0], texts, "0000000", segments)
    assert found == (4, 5)
    # Nothing between the texts, as in mBART.
    assert answer_of([9, 1, 2, 0], [9, 1, 2, 0], "a b c </s>", "0000", "0110") == (2, 2)
    assert answer_of([math.nan] * 7, [0] * 7, texts, segments) is None


@pytest.mark.parametrize(("beyond", "start"), [(0, 1), (1, 2)])
def test_answers_have_a_maximum_length(beyond: int, start: int) -> None:
    count = LONGEST_ANSWER + 1 + beyond
    starts, ends = [0.0] * count, [0.0] * count
    starts[1], starts[2], ends[-1] = 5, 1, 9
    texts = " ".join(["[SEP]", *["a"] * (count - 1)])
    segments = "0" + "1" * (count - 1)
    assert answer_of(starts, ends, texts, segments) == (start, count - 1)


def test_untrained_tensors_of_the_head_are_listed() -> None:
    one = known("bert", "pretraining")
    names = ("cls.predictions.bias", "cls.seq_relationship.bias", "bert.pooler.bias")
    run = replace(one.run, source=replace(one.run.source, random_tensors=names))
    assert scores_of(one, run).random_tensors == names[1:]


def test_infinite_logits_have_no_probability() -> None:
    one = known("bert", "sequence-classification")
    run = replace(one.run, outputs={"logits": np.array([[np.inf, 1.0]])})
    probabilities = scores_of(one, run).probabilities
    assert probabilities is not None
    assert np.isnan(probabilities[0, 0])


def vocabulary_scores(logits: Tensor) -> VocabularyScores:
    return VocabularyScores(logits.numpy(), logits.double().logsumexp(-1).numpy())


def test_probabilities_and_ranks_of_the_vocabulary_are_torchs() -> None:
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
    ties = vocabulary_scores(torch.tensor([[1.0, 2.0, 2.0, 0.0]]))
    assert [ties.rank(token) for token in range(4)] == [3, 1, 1, 4]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_logits_that_are_not_finite_have_no_ranks(bad: float) -> None:
    scores = vocabulary_scores(torch.tensor([[0.0, bad], [0.0, 1.0]]))
    assert (scores.probability(0, 0), scores.rank(0, 0)) == (None, None)
    assert scores.rank(0, 1) == 2


def test_predictions_have_the_scores_of_every_layer() -> None:
    found = predictions_at(known("bert", "masked-lm"), 2)
    assert found.scores is not None
    for state, guess in enumerate(found.layers):
        for rank, one in enumerate(guess.top, start=1):
            assert found.scores.rank(one.id, state) == rank
            assert found.scores.logit(one.id, state) == one.logit
            assert found.scores.probability(one.id, state) == pytest.approx(
                one.probability, rel=1e-12
            )
