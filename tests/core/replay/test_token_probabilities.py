"""The probability of each token in its place is that of the model's own scores."""

import pytest

from bertviewer.core.replay.predictions import token_probabilities
from bertviewer.core.util.errors import UserError
from tests.core.replay.guesses import at, logits_of
from tests.core.replay.model_runs import known


def test_a_masked_head_scores_each_token_at_its_own_place() -> None:
    it = known("bert", "masked-lm")
    found = token_probabilities(it.model, it.run, it.kept)
    shares = logits_of(it).double().softmax(-1)
    wanted = [float(shares[place, token.id]) for place, token in enumerate(it.run.tokens)]
    assert found == pytest.approx(wanted, rel=1e-9)


def test_what_comes_next_is_scored_one_place_before() -> None:
    it = known("gpt2", "pretraining")
    found = token_probabilities(it.model, it.run, it.kept)
    assert found[0] is None
    assert len(found) == len(it.run.tokens)
    for token in range(1, len(found)):
        assert found[token] == pytest.approx(at(it, token - 1).guess.probability, rel=1e-6)


def test_of_an_encoder_decoder() -> None:
    it = known("t5", "pretraining")
    found = token_probabilities(it.model, it.run, it.kept)
    for place, token in enumerate(it.run.tokens):
        if token.segment == 1:
            predicted = at(it, place)
            if predicted.expected is not None:
                assert found[predicted.expected] == pytest.approx(
                    predicted.guess.probability, rel=1e-5
                )


def test_without_a_head_it_says_so() -> None:
    it = known("bert")
    with pytest.raises(UserError, match="no head that predicts tokens"):
        token_probabilities(it.model, it.run, it.kept)
