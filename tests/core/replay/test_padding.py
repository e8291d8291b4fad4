"""Effects of padding, compared with transformers' own output."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from bertviewer.core.analysis.padding import Padding, usual_length
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.checks.small_models import run
from tests.core.replay.model_runs import Opened, known, opened, ran

ALONE = Sentence("the cat sat on the mat")


def padded(one: Opened, length: int = 16) -> Padding:
    return compare_padding(one, length)


FAMILIES = ("bert", "roberta", "distilbert", "albert", "electra", "mpnet", "deberta-v2", "t5",
            "bart", "modernbert", "squeezebert", "esm", "roformer")  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_with_a_mask_the_sentence_is_as_it_is_alone(family: str) -> None:
    one = known(family)
    length = len([t for t in one.run.tokens if t.segment == 0 or family not in {"t5", "bart"}]) + 5
    found = padded(one, length)
    assert found.is_same
    assert found.states[-1].changes
    assert bool(found.attentions) == (family != "squeezebert")  # it shows scores alone
    assert all(each.masked == 0 for each in found.attentions)
    assert all(0 < each.unmasked < 1 for each in found.attentions)
    # A padded row is computed like any other, and is not 0.
    assert all(state.padded_norm > 0.1 for state in found.states[1:])
    assert found.mask == (1,) * found.count + (0,) * 5
    assert not found.is_causal


def test_a_decoder_sees_no_padding_behind_its_text_mask_or_not() -> None:
    found = padded(known("gpt2"), 24)
    assert found.is_same
    assert found.is_causal
    assert not any(state.changes for state in found.states)
    assert all(each.masked == each.unmasked == 0 for each in found.attentions)


def test_a_model_whose_eager_attention_differs_is_run_in_its_own_way(tmp_path: Path) -> None:
    """Falcon's adds ALiBi's biases twice."""
    sizes = {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2}
    values = {"model_type": "falcon", "num_attention_heads": 4, "alibi": True, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(values))
    model = open_model(parse_source(str(tmp_path / "config.json")))
    run(model)  # moves the weights away from those of the initialisation
    one = ran(model, ALONE)
    found = padded(one)
    norm = np.linalg.norm(one.run.hidden_states[-1], axis=1).mean()
    assert found.states[-1].norm == pytest.approx(norm, rel=1e-5)
    assert found.is_causal
    assert found.attentions == ()


def test_a_model_that_pads_by_itself_is_refused(tmp_path: Path) -> None:
    """Reformer fills its last chunk, so its states are longer than the sentence."""
    config = {
        "vocab_size": 97,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "intermediate_size": 40,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "attn_layers": ["lsh"],
        "axial_pos_shape": [4, 6],
        "axial_pos_embds_dim": [16, 16],
        "lsh_attn_chunk_length": 4,
        "num_buckets": 4,
        "model_type": "reformer",
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    one = ran(open_model(parse_source(str(path))), Sentence("the cat sat"))
    with pytest.raises(UserError, match="another length than the sentence"):
        padded(one, 10)


def test_the_numbers_are_those_of_plain_calls() -> None:
    one = opened("bert", sentence=ALONE)
    found = padded(one, 16)
    count = found.count
    module = one.network
    module.set_attn_implementation("eager")
    inputs = one.cache.inputs
    assert inputs["input_ids"].shape == (1, count)

    def fill(name: str, value: int) -> torch.Tensor:
        return torch.cat([inputs[name], torch.full((1, 16 - count), value)], dim=1)

    ids = fill("input_ids", one.model.architecture.config["pad_token_id"])
    more = {"output_hidden_states": True, "output_attentions": True}
    with torch.no_grad():
        alone = module(**inputs, output_attentions=True)
        without = module(ids, token_type_ids=fill("token_type_ids", 0), **more)
        masked = module(
            ids,
            attention_mask=fill("attention_mask", 0),
            token_type_ids=fill("token_type_ids", 0),
            **more,
        )
    for number, state in enumerate(found.states):
        rows = alone.hidden_states[number][0].double()
        theirs = without.hidden_states[number][0, :count].double()
        assert state.unmasked == pytest.approx(float((theirs - rows).abs().max()), abs=1e-12)
        padding = masked.hidden_states[number][0, count:].double()
        assert state.padded_norm == pytest.approx(float(padding.norm(dim=1).mean()), abs=1e-12)
    for number, each in enumerate(found.attentions):
        shares = without.attentions[number][0, :, :count, count:].double().sum(-1)
        assert each.unmasked == pytest.approx(float(shares.mean()), abs=1e-12)


def test_the_model_is_left_as_it_was() -> None:
    one = opened("bert", sentence=ALONE)
    used = one.network.config._attn_implementation
    padded(one)
    assert one.network.config._attn_implementation == used
    assert torch.equal(one.plain().last_hidden_state[0], torch.tensor(one.run.hidden_states[-1]))


@pytest.mark.parametrize("length", [0, 6, 33])
def test_a_length_that_is_none_is_refused(length: int) -> None:
    one = opened("bert", sentence=ALONE)
    with pytest.raises(UserError, match="the padded length must be"):
        padded(one, length)


def test_a_model_that_takes_no_mask_says_so() -> None:
    with pytest.raises(UserError, match="accepts no attention mask"):
        padded(known("transformer-base"))


def test_the_usual_length_leaves_room_as_far_as_the_model_goes() -> None:
    assert usual_length(10, 512) == 16
    assert usual_length(14, 512) == 32
    assert usual_length(500, 512) == 512
    assert usual_length(512, 512) is None
    assert usual_length(10, None) == 16
