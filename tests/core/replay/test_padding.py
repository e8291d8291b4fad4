"""Effects of padding, compared with plain calls of the model.

``test_families`` has what holds for every family.
"""

import numpy as np
import pytest
import torch

from bertviewer.core.analysis.padding import usual_length
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from tests.core.formulas.formula_models import OTHERS, TINY
from tests.core.replay.model_runs import known, opened

ALONE = Sentence("the cat sat on the mat")


def test_the_numbers_are_those_of_plain_calls() -> None:
    it = opened("bert", sentence=ALONE)
    found = compare_padding(it, 16)
    count = found.count
    it.network.set_attn_implementation("eager")
    inputs = it.cache.inputs
    assert inputs["input_ids"].shape == (1, count)

    def padded(name: str, value: int) -> torch.Tensor:
        return torch.cat([inputs[name], torch.full((1, 16 - count), value)], dim=1)

    pad = it.model.architecture.config["pad_token_id"]
    more = {"input_ids": padded("input_ids", pad), "token_type_ids": padded("token_type_ids", 0)}
    alone = it.plain(output_attentions=True)
    masked = it.plain(**more, attention_mask=padded("attention_mask", 0), output_attentions=True)
    unmasked = it.plain(**more, attention_mask=None, output_attentions=True)
    for number, state in enumerate(found.states):
        rows = alone.hidden_states[number][0].double()
        change = unmasked.hidden_states[number][0, :count].double() - rows
        assert state.unmasked == pytest.approx(float(change.abs().max()), abs=1e-12)
        assert state.norm == pytest.approx(float(rows.norm(dim=1).mean()), abs=1e-12)
        padding = masked.hidden_states[number][0, count:].double()
        assert state.padded_norm == pytest.approx(float(padding.norm(dim=1).mean()), abs=1e-12)
    for number, each in enumerate(found.attentions):
        weights = unmasked.attentions[number][0, :, :count, count:].double().sum(-1)
        assert each.unmasked == pytest.approx(float(weights.mean()), abs=1e-12)


def test_the_model_is_unchanged() -> None:
    it = opened("bert", sentence=ALONE)
    used = it.network.config._attn_implementation
    compare_padding(it, 16)
    assert it.network.config._attn_implementation == used
    assert torch.equal(it.plain().last_hidden_state[0], torch.tensor(it.run.hidden_states[-1]))


def test_a_causal_model_does_not_see_padding_at_the_end() -> None:
    found = compare_padding(known("gpt2"), 24)
    assert found.is_same
    assert found.is_causal
    assert not any(state.changes for state in found.states)
    assert all(each.masked == each.unmasked == 0 for each in found.attentions)


def test_a_model_whose_eager_attention_differs_keeps_its_own() -> None:
    """Falcon's adds the biases of ALiBi twice."""
    values = {**TINY["bert"], "hidden_size": 32, "num_attention_heads": 4, "alibi": True}
    it = opened("falcon", sentence=ALONE, **values)
    found = compare_padding(it, 16)
    norm = np.linalg.norm(it.run.hidden_states[-1], axis=1).mean()
    assert found.states[-1].norm == pytest.approx(norm, rel=1e-5)
    assert found.is_causal
    assert found.attentions == ()


def test_models_that_are_refused() -> None:
    with pytest.raises(UserError, match="accepts no attention mask"):
        compare_padding(known("transformer-base"), 16)
    # Reformer fills its last chunk, so its states are longer than the sentence.
    it = opened("reformer", sentence=Sentence("the cat sat"), **OTHERS["reformer"])
    with pytest.raises(UserError, match="another length than the sentence"):
        compare_padding(it, 10)


@pytest.mark.parametrize("length", [0, 9, 33])
def test_an_invalid_length(length: int) -> None:
    with pytest.raises(UserError, match="the padded length must be"):
        compare_padding(known("bert"), length)


@pytest.mark.parametrize(
    ("count", "limit", "length"),
    [(10, 512, 16), (14, 512, 32), (500, 512, 512), (512, 512, None), (10, None, 16)],
)
def test_usual_length(count: int, limit: int | None, length: int | None) -> None:
    assert usual_length(count, limit) == length
