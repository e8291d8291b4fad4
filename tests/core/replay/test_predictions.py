"""Predictions are those of the model, of transformers' pipeline, and of the head alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertviewer.core.analysis.predictions import Guess, mask_positions, predicted_positions
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.predictions import predictions_at, token_probabilities
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.replay.model_runs import Opened, known, opened, ran

MASKED_LM = (
    *("bert", "distilbert", "roberta", "mpnet", "electra", "albert", "deberta-v2", "deberta"),
    *("modernbert", "roformer", "esm", "big_bird", "squeezebert", "bart", "mbart"),
)
HEADS = [
    *((family, "masked-lm") for family in MASKED_LM),
    *((family, "pretraining") for family in ("bert", "albert", "gpt2", "t5")),
]
ENCODER_DECODERS = ("bart", "mbart", "t5")
MASKED = Sentence("the cat [MASK] on the mat")


@pytest.fixture(scope="module")
def demo() -> Opened:
    """Return a run of the demo model with its head over the vocabulary, which is random."""
    return ran(open_model(parse_source("demo", "masked-lm")), MASKED)


def logits_of(it: Opened) -> Any:
    """Return the model's own scores: [rows, V]."""
    output = it.plain()
    return (output["prediction_logits"] if "prediction_logits" in output else output["logits"])[0]


def ids(guess: Guess) -> list[int]:
    return [candidate.id for candidate in guess.top]


def probabilities(guess: Guess) -> list[float]:
    return [candidate.probability for candidate in guess.top]


@pytest.mark.parametrize(("family", "task"), HEADS)
def test_predictions_are_the_models(family: str, task: str) -> None:
    it = known(family, task)
    positions = predicted_positions(it.run, it.model.architecture)
    logits = logits_of(it)
    assert len(positions) == len(logits) > 2
    for row in (0, len(positions) // 2, len(positions) - 1):
        found = predictions_at(it, positions[row])
        best = logits[row].softmax(-1).topk(10)
        assert ids(found.guess) == best.indices.tolist()
        assert probabilities(found.guess) == pytest.approx(best.values.tolist(), rel=1e-4)
        scores = [candidate.logit for candidate in found.guess.top]
        assert scores == pytest.approx(logits[row][best.indices].tolist(), rel=1e-4, abs=1e-5)
        # The last row of the lens, which reads the recorded hidden state, is the same.
        assert found.no_layers == ""
        assert len(found.layers) == len(it.run.hidden_states)
        assert found.layers[-1] is found.guess
        expected = expected_position(it, positions, row)
        assert found.expected == expected
        if expected is None:
            assert (found.guess.rank, found.guess.probability) == (None, None)
            continue
        token = it.run.tokens[expected].id
        order = logits[row].argsort(descending=True).tolist()
        assert found.guess.rank == order.index(token) + 1
        share = float(logits[row].softmax(-1)[token])
        assert found.guess.probability == pytest.approx(share, rel=1e-4)


def expected_position(it: Opened, positions: tuple[int, ...], row: int) -> int | None:
    """Return the position of the token that a row of the scores is compared with."""
    family = it.model.architecture.config["model_type"]
    if family in ENCODER_DECODERS:
        # The decoder reads the encoder's tokens one position later.
        inputs = it.cache.inputs
        source, target = inputs["input_ids"][0], inputs["decoder_input_ids"][0]
        assert int(source[row]) == it.run.tokens[row].id
        assert row == len(positions) - 1 or source[row] == target[row + 1]
        return row
    if family == "gpt2":
        return None if row == len(positions) - 1 else positions[row] + 1
    return positions[row]


def plain_head(it: Opened) -> Callable[[torch.Tensor, bool], torch.Tensor]:
    """Return the head as a function of a hidden state and whether it is the last one."""
    module = it.network
    match it.model.architecture.config["model_type"]:
        case "bert":
            return lambda x, _: module.cls(x)
        case "gpt2":
            return lambda x, last: module.lm_head(x if last else module.transformer.ln_f(x))
        case "bart":
            return lambda x, _: module.lm_head(x) + module.final_logits_bias
        case "mbart":
            norm = module.model.decoder.layer_norm
            return lambda x, last: module.lm_head(x if last else norm(x)) + module.final_logits_bias
        case "modernbert":
            norm = module.model.final_norm
            return lambda x, last: module.decoder(module.head(x if last else norm(x)))
        case "t5":
            norm, scale = module.decoder.final_layer_norm, module.config.d_model**-0.5
            return lambda x, last: module.lm_head((x if last else norm(x)) * scale)
    raise AssertionError


@pytest.mark.parametrize(
    ("family", "task"),
    [
        *((family, "masked-lm") for family in ("bert", "modernbert", "bart", "mbart")),
        *((family, "pretraining") for family in ("gpt2", "t5")),
    ],
)
def test_each_hidden_state_goes_through_the_head(family: str, task: str) -> None:
    it = known(family, task)
    position = predicted_positions(it.run, it.model.architecture)[1]
    found = predictions_at(it, position, top=5)
    head = plain_head(it)
    prefix = "decoder_" if family in ENCODER_DECODERS else ""
    states = it.plain()[f"{prefix}hidden_states"]
    assert len(found.layers) == len(states)
    for number, state in enumerate(states):
        with torch.no_grad():
            logits = head(state[:, 1], number == len(states) - 1)[0]
        best = logits.softmax(-1).topk(5)
        assert ids(found.layers[number]) == best.indices.tolist()
        assert probabilities(found.layers[number]) == pytest.approx(best.values.tolist(), rel=1e-4)


def test_layers_of_a_decoder_that_is_shorter_than_its_encoder() -> None:
    it = opened("bart", "masked-lm", encoder_layers=4, decoder_layers=2)
    assert len(it.run.hidden_states) == 5
    found = predictions_at(it, predicted_positions(it.run, it.model.architecture)[0])
    assert len(found.layers) == 3
    assert ids(found.guess) == logits_of(it)[0].topk(10).indices.tolist()


@pytest.mark.parametrize(("dtype", "rel"), [(torch.float64, 1e-13), (torch.bfloat16, 1e-3)])
@pytest.mark.parametrize(("family", "task"), [("bert", "masked-lm"), ("gpt2", "pretraining")])
def test_scores_keep_the_digits_of_the_models_dtype(
    family: str, task: str, dtype: torch.dtype, rel: float
) -> None:
    it = opened(family, task)
    it.network.to(dtype)
    it = ran(it.model)
    best = float(logits_of(it)[2].double().max())
    found = predictions_at(it, 2)
    assert found.no_layers == ""
    for guess in (found.guess, found.layers[-1]):
        assert guess.top[0].logit == pytest.approx(best, rel=rel, abs=0)


def test_the_demo_against_transformers_pipeline(demo: Opened) -> None:
    (position,) = mask_positions(demo.run, demo.model.architecture)
    assert demo.run.tokens[position].text == "[MASK]"
    found = predictions_at(demo, position, top=7)
    tokenizer = transformers.AutoTokenizer.from_pretrained(demo.model.source.path)
    pipeline = transformers.FillMaskPipeline(model=demo.network, tokenizer=tokenizer)
    expected = pipeline(MASKED.text, top_k=7)
    assert ids(found.guess) == [entry["token"] for entry in expected]
    scores = [entry["score"] for entry in expected]
    assert probabilities(found.guess) == pytest.approx(scores, rel=1e-4)
    texts = [candidate.text for candidate in found.guess.top]
    assert texts == tokenizer.convert_ids_to_tokens(ids(found.guess))
    assert demo.model.tokenizer().text_of(1_000_000) == "#1000000"  # a row without a token
    # The checkpoint has no head.
    assert found.random_tensors
    assert set(found.random_tensors) == {
        name for name in demo.run.source.random_tensors if name.startswith("cls.predictions")
    }


def test_a_placeholder_tokenizer_knows_only_the_sentences_tokens() -> None:
    it = known("bert", "masked-lm")
    texts = {token.id: token.text for token in it.run.tokens}
    found = predictions_at(it, 0, top=1000)
    assert len(found.guess.top) == 97  # the whole vocabulary
    assert {c.text for c in found.guess.top} == {
        texts.get(n, "<pad>" if n == 0 else f"#{n}") for n in range(97)
    }
    assert sum(probabilities(found.guess)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("family", "task"), [("bert", "masked-lm"), ("gpt2", "pretraining"), ("t5", "pretraining")]
)
def test_probabilities_of_all_tokens(family: str, task: str) -> None:
    it = known(family, task)
    found = token_probabilities(it)
    assert len(found) == len(it.run.tokens)
    positions = predicted_positions(it.run, it.model.architecture)
    shares = logits_of(it).double().softmax(-1)
    places = [expected_position(it, positions, row) for row in range(len(positions))]
    for row, place in enumerate(places):
        if place is not None:
            expected = float(shares[row, it.run.tokens[place].id])
            assert found[place] == pytest.approx(expected, rel=1e-9)
    assert all((found[place] is None) == (place not in places) for place in range(len(found)))


@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("bert", "base"),
        ("gpt2", "base"),
        ("bert", "sequence-classification"),
        ("bert", "token-classification"),
    ],
)
def test_models_that_predict_no_tokens(family: str, task: str) -> None:
    it = known(family, task)
    assert predicted_positions(it.run, it.model.architecture) == ()
    assert mask_positions(it.run, it.model.architecture) == ()
    with pytest.raises(UserError, match="no head that predicts tokens"):
        predictions_at(it, 0)
    with pytest.raises(UserError, match="no head that predicts tokens"):
        token_probabilities(it)


def test_tokens_of_an_encoder_have_no_predictions() -> None:
    with pytest.raises(UserError, match="decoder's tokens"):
        predictions_at(known("bart", "masked-lm"), 0)


def mixing(forward: Any, head: Any, x: torch.Tensor) -> Any:
    return forward(head, x + x.mean(1, True))


def failing(forward: Any, head: Any, x: torch.Tensor) -> Any:
    if x.shape[1] == 1:
        raise RuntimeError("too short")
    return forward(head, x)


@pytest.mark.parametrize(
    ("change", "reason"),
    [(mixing, "more than the token's last hidden state"), (failing, "too short")],
)
def test_a_head_that_cannot_be_applied_to_one_token(
    change: Callable[..., Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = opened("bert", "masked-lm")
    kind = type(it.network.cls)
    plain = kind.forward
    monkeypatch.setattr(kind, "forward", lambda head, x: change(plain, head, x))
    it = ran(it.model)
    found = predictions_at(it, 2)
    assert found.layers == ()
    assert reason in found.no_layers
    assert ids(found.guess) == logits_of(it)[2].topk(10).indices.tolist()


def test_a_forward_that_was_replaced_before_stays_replaced() -> None:
    it = opened("bert", "masked-lm")
    it.network.bert.forward = replaced = partial(it.network.bert.forward)
    predictions_at(it, 1)
    assert it.network.bert.forward is replaced


def test_a_score_that_is_nan() -> None:
    it = opened("bert", "masked-lm")
    with torch.no_grad():
        it.network.cls.predictions.bias[3] = torch.nan
    guess = predictions_at(ran(it.model), 1).guess
    assert (guess.rank, guess.probability) == (None, None)
    assert np.isnan(guess.top[0].probability)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize(
    ("family", "task", "layers"),
    [("bert", "masked-lm", "encoder.layer"), ("gpt2", "pretraining", "h")],
)
def test_layers_before_a_nan_keep_their_predictions(
    family: str, task: str, layers: str, value: float
) -> None:
    it = opened(family, task)
    plain = predictions_at(it, 1)
    # Not in the queries: on some processors torch's fused attention takes a NaN for a number.
    *_, parameter = it.network.base_model.get_submodule(layers)[-1].parameters()
    with torch.no_grad():
        parameter.view(-1)[0] = value
    found = predictions_at(ran(it.model), 1)
    assert found.no_layers == ""
    assert found.layers[:-1] == plain.layers[:-1]
    assert found.guess.rank is None
