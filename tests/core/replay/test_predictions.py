"""Predictions are those of the model, of transformers' pipeline, and of the head alone."""

from collections.abc import Callable
from functools import cache

import pytest
import torch
import transformers

from bertviewer.core.analysis.predictions import Guess, mask_positions, predicted_positions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.predictions import token_probabilities
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import heads, small_model
from tests.core.replay.guesses import at, ids, logits_of
from tests.core.replay.model_runs import Opened, known, opened, ran

HEADS = [
    (family, task)
    for family, task in heads()
    if task in ("masked-lm", "pretraining") and (family, task) != ("electra", "pretraining")
]
CAUSAL = ("gpt2", "bart", "mbart", "t5", "mt5")
MASKED = Sentence("the cat [MASK] on the mat")


@cache
def demo() -> Opened:
    """Open the demo model with its head over the vocabulary, which is random."""
    model: LoadedModel = open_model(parse_source("demo", "masked-lm"))
    return ran(model, MASKED)


def probabilities(guess: Guess) -> list[float]:
    return [candidate.probability for candidate in guess.top]


@pytest.mark.parametrize(("family", "task"), HEADS)
def test_it_is_what_the_model_gives(family: str, task: str) -> None:
    it = known(family, task)
    places = predicted_positions(it.run, it.model.architecture)
    logits = logits_of(it)
    assert len(places) == len(logits)
    for row, position in enumerate(places):
        found = at(it, position)
        best = logits[row].softmax(-1).topk(10)
        assert ids(found.guess) == best.indices.tolist()
        assert probabilities(found.guess) == pytest.approx(best.values.tolist(), rel=1e-4)
        scores = [candidate.logit for candidate in found.guess.top]
        assert scores == pytest.approx(logits[row][best.indices].tolist(), rel=1e-4, abs=1e-5)
        # The last row of the lens, which reads the vector that the run kept, is the same.
        assert found.no_layers == ""
        assert len(found.layers) == len(it.run.hidden_states)
        assert found.layers[-1] is found.guess


@pytest.mark.parametrize(("dtype", "rel"), [(torch.float64, 1e-13), (torch.bfloat16, 1e-3)])
def test_a_model_of_another_dtype_keeps_its_digits(dtype: torch.dtype, rel: float) -> None:
    model = small_model("bert", "masked-lm")
    model.module(random_weights=True).to(dtype)
    it = ran(model, MASKED)
    best = it.plain().logits[0, 2].double().max()
    for found in (at(it, 2).guess, at(it, 2).layers[-1]):
        assert found.top[0].logit == pytest.approx(float(best), rel=rel, abs=0)


@pytest.mark.parametrize(("family", "task"), HEADS)
def test_the_token_that_is_predicted(family: str, task: str) -> None:
    it = known(family, task)
    places = predicted_positions(it.run, it.model.architecture)
    assert len(places) > 2
    for row, position in enumerate(places):
        found = at(it, position)
        if family not in CAUSAL:
            assert found.expected == position
        elif family != "gpt2":
            # The decoder reads the encoder's tokens one place later.
            assert found.expected == row
            source, target = (
                it.cache.inputs["input_ids"][0],
                it.cache.inputs["decoder_input_ids"][0],
            )
            assert int(source[row]) == it.run.tokens[row].id
            assert row == len(places) - 1 or source[row] == target[row + 1]
        elif position == places[-1]:
            assert (found.expected, found.guess.rank, found.guess.probability) == (None, None, None)
            continue
        else:
            assert found.expected == position + 1
        token = it.run.tokens[found.expected].id
        logits = logits_of(it)[row]
        order = logits.argsort(descending=True).tolist()
        assert found.guess.rank == order.index(token) + 1
        assert found.guess.probability == pytest.approx(float(logits.softmax(-1)[token]), rel=1e-4)


def _plain_head(it: Opened) -> Callable[[torch.Tensor, bool], torch.Tensor]:
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
    ("family", "task", "states"),
    [
        ("bert", "masked-lm", "hidden_states"),
        ("gpt2", "pretraining", "hidden_states"),
        ("modernbert", "masked-lm", "hidden_states"),
        ("bart", "masked-lm", "decoder_hidden_states"),
        ("mbart", "masked-lm", "decoder_hidden_states"),
        ("t5", "pretraining", "decoder_hidden_states"),
    ],
)
def test_each_layer_through_the_head(family: str, task: str, states: str) -> None:
    it = known(family, task)
    position = predicted_positions(it.run, it.model.architecture)[1]
    found = at(it, position, top=5)
    head = _plain_head(it)
    every = it.plain()[states]
    assert len(found.layers) == len(every)
    for number, state in enumerate(every):
        with torch.no_grad():
            logits = head(state[:, 1], number == len(every) - 1)[0]
        best = logits.softmax(-1).topk(5)
        assert ids(found.layers[number]) == best.indices.tolist()
        assert probabilities(found.layers[number]) == pytest.approx(best.values.tolist(), rel=1e-4)


def test_the_layers_of_a_shorter_decoder() -> None:
    it = opened("bart", "masked-lm", encoder_layers=4, decoder_layers=2)
    position = predicted_positions(it.run, it.model.architecture)[0]
    assert len(it.run.hidden_states) == 5
    found = at(it, position)
    assert len(found.layers) == 3
    assert ids(found.guess) == logits_of(it)[0].topk(10).indices.tolist()


def test_the_pipeline_on_the_demo() -> None:
    it = demo()
    (position,) = mask_positions(it.run, it.model.architecture)
    assert it.run.tokens[position].text == "[MASK]"
    found = at(it, position, top=7)
    tokenizer = transformers.AutoTokenizer.from_pretrained(it.model.source.path)
    pipeline = transformers.FillMaskPipeline(model=it.network, tokenizer=tokenizer)
    expected = pipeline(MASKED.text, top_k=7)
    assert ids(found.guess) == [entry["token"] for entry in expected]
    assert probabilities(found.guess) == pytest.approx([e["score"] for e in expected], rel=1e-4)
    names = [candidate.text for candidate in found.guess.top]
    assert names == tokenizer.convert_ids_to_tokens(ids(found.guess))


def test_a_random_head_is_told() -> None:
    it = demo()
    found = at(it, 1)
    assert set(found.random_tensors) == {
        name for name in it.run.source.random_tensors if name.startswith("cls.predictions")
    }
    assert found.random_tensors


def test_tokens_of_a_stand_in_are_numbers_but_for_those_of_the_sentence() -> None:
    it = known("bert", "masked-lm")
    texts = {token.id: token.text for token in it.run.tokens}
    found = at(it, 0, top=97)
    assert {c.text for c in found.guess.top} == {texts.get(n, f"#{n}") for n in range(97)}
    assert sum(probabilities(found.guess)) == pytest.approx(1)


def test_rows_without_a_token_are_numbers() -> None:
    tokenizer = demo().model.tokenizer()
    assert tokenizer.text_of(103) == "[MASK]"
    assert tokenizer.text_of(1_000_000) == "#1000000"
    assert known("albert").model.tokenizer().text_of(4) == "[MASK]"


def test_a_vocabulary_of_few_tokens() -> None:
    it = known("bert", "masked-lm")
    assert len(at(it, 0, top=1000).guess.top) == 97


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_dtypes(dtype: torch.dtype) -> None:
    it = opened("gpt2", "pretraining")
    it.network.to(dtype)
    again = ran(it.model)
    found = at(again, 3)
    assert found.no_layers == ""
    best = logits_of(again)[3].float().softmax(-1).max()
    tolerance = 0.05 if dtype == torch.bfloat16 else 1e-5
    assert found.guess.top[0].probability == pytest.approx(float(best), rel=tolerance)


def test_a_masked_head_scores_each_token_at_its_own_place() -> None:
    it = known("bert", "masked-lm")
    found = token_probabilities(it)
    shares = logits_of(it).double().softmax(-1)
    wanted = [float(shares[place, token.id]) for place, token in enumerate(it.run.tokens)]
    assert found == pytest.approx(wanted, rel=1e-9)


def test_what_comes_next_is_scored_one_place_before() -> None:
    it = known("gpt2", "pretraining")
    found = token_probabilities(it)
    assert found[0] is None
    assert len(found) == len(it.run.tokens)
    for token in range(1, len(found)):
        assert found[token] == pytest.approx(at(it, token - 1).guess.probability, rel=1e-6)


def test_of_an_encoder_decoder() -> None:
    it = known("t5", "pretraining")
    found = token_probabilities(it)
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
        token_probabilities(it)
