"""Scores of a vocabulary: any token's probability and rank are torch's."""

import numpy as np
import pytest
import torch

from bertviewer.core.analysis.predictions import VocabularyScores
from bertviewer.core.replay.predictions import predictions_at
from tests.core.replay.model_runs import known


def scores_of(logits: torch.Tensor) -> VocabularyScores:
    return VocabularyScores(logits.numpy(), logits.double().logsumexp(-1).numpy())


def test_probabilities_and_ranks_of_all_tokens_are_torchs() -> None:
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(2)) * 5
    scores = scores_of(logits)
    probabilities = logits.double().softmax(-1)
    order = logits.argsort(-1, descending=True)
    for state in range(3):
        for rank, token in enumerate(order[state].tolist(), start=1):
            assert scores.logit(token, state) == float(logits[state, token])
            expected = float(probabilities[state, token])
            assert scores.probability(token, state) == pytest.approx(expected, rel=1e-12)
            assert scores.rank(token, state) == rank


def test_the_same_score_shares_the_best_rank() -> None:
    scores = scores_of(torch.tensor([[1.0, 2.0, 2.0, 0.0]]))
    assert [scores.rank(token) for token in range(4)] == [3, 1, 1, 4]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_there_is_none_where_scores_are_not_finite(bad: float) -> None:
    scores = scores_of(torch.tensor([[0.0, bad], [0.0, 1.0]]))
    assert (scores.probability(0, 0), scores.rank(0, 0)) == (None, None)
    assert scores.rank(0, 1) == 2


def test_predictions_carry_those_of_every_layer() -> None:
    it = known("bert", "masked-lm")
    found = predictions_at(it.model, it.run, it.kept, 2)
    assert found.scores is not None
    for state, guess in enumerate(found.layers):
        for rank, one in enumerate(guess.top, start=1):
            assert found.scores.rank(one.id, state) == rank
            assert found.scores.logit(one.id, state) == one.logit
            assert found.scores.probability(one.id, state) == pytest.approx(
                one.probability, rel=1e-12
            )
