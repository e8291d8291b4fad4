"""What holds for every family, checked on one small model and one run of each.

A run is compared with a plain call of the model, and what is replayed of it with the same forward
pass, with transformers' eager attention and with torch's FLOP counter.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bertviewer.core.analysis.layers import unit_of
from bertviewer.core.replay.padding import compare_padding
from bertviewer.core.runs.macs import RunCounter
from bertviewer.core.runs.module_replay import replay
from bertviewer.core.runs.recording import first_tensor
from tests.core.formulas.formula_models import DISTINCT, TINY
from tests.core.graph.narrow_models import counted_by_torch, is_known_to_torch
from tests.core.replay.model_runs import Opened, assert_same_calls, every_map, known, opened

BERT = TINY["bert"]
XLM = {"vocab_size": 97, "emb_dim": 24, "n_layers": 2, "n_heads": 3, "max_position_embeddings": 64}
MORE: dict[str, dict[str, Any]] = {
    "bert-generation": BERT,
    "convbert": {**BERT, "embedding_size": 16, "head_ratio": 1, "num_attention_heads": 4},
    "falcon": {**BERT, "hidden_size": 32, "num_attention_heads": 4},
    "flaubert": XLM,
    "megatron-bert": BERT,
    "pegasus": {**TINY["bart"], "decoder_layers": 1, "decoder_attention_heads": 2},
    "xlm": XLM,
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
}
"""Families without formulas, whose attention is compared too."""
ENCODER_DECODERS = ("bart", "mbart", "t5", "mt5", "transformer-base")
PADDED = (
    *("bert", "roberta", "distilbert", "albert", "electra", "mpnet", "deberta-v2", "t5"),
    *("bart", "modernbert", "squeezebert", "esm", "roformer"),
)
every_family = pytest.mark.parametrize("family", DISTINCT)


@cache
def model_of(family: str) -> Opened:
    return opened(family, **MORE[family]) if family in MORE else known(family)


def stacked(output: Any) -> list[NDArray[Any]]:
    """Return the hidden states of a plain call, the encoder's tokens above the decoder's."""
    if output.get("hidden_states") is not None:
        return [state[0].numpy() for state in output.hidden_states]
    pairs = zip(output.encoder_hidden_states, output.decoder_hidden_states, strict=True)
    return [np.concatenate([source[0].numpy(), target[0].numpy()]) for source, target in pairs]


@every_family
def test_hidden_states_and_norms_are_those_of_a_plain_call(family: str) -> None:
    it = known(family)
    expected = stacked(it.plain())
    assert len(it.run.hidden_states) == len(it.run.token_norms) == len(expected)
    for state, wanted, norms in zip(
        it.run.hidden_states, expected, it.run.token_norms, strict=True
    ):
        assert np.array_equal(state, wanted)
        assert norms == pytest.approx(np.linalg.norm(wanted.astype(np.float64), axis=1))


@every_family
def test_every_hidden_state_has_the_module_that_returned_it(family: str) -> None:
    it = known(family)
    tokens = it.run.tokens
    assert len(it.run.state_paths) == len(it.run.hidden_states)
    for number, state in enumerate(it.run.hidden_states):
        for place, token in enumerate(tokens):
            path = it.run.state_path(number, place)
            assert path is not None
            segment = token.segment if family in ENCODER_DECODERS else 0
            row = place - sum(other.segment < segment for other in tokens)
            outputs = [first_tensor(call.output) for call in it.everything.calls[path]]
            if family == "squeezebert":  # its layers return [B, D, S]
                outputs = [o if o is None or o.shape[-1] == 24 else o.mT for o in outputs]
            rows = [o.reshape(-1, 24) for o in outputs if o is not None]
            assert any(
                len(each) > row and np.array_equal(each[row].numpy(), state[place]) for each in rows
            ), (number, place, path)


@every_family
def test_replayed_calls_are_bit_identical(family: str) -> None:
    assert_replayed(known(family))


@pytest.mark.parametrize(
    ("family", "task", "changes"),
    [
        *(("bert", task, {}) for task in ("pretraining", "next-sentence", "causal-lm")),
        *(("bert", f"{kind}-classification", {}) for kind in ("sequence", "token")),
        ("gpt2", "sequence-classification", {}),
        ("distilbert", "question-answering", {}),
        ("albert", "pretraining", {}),
        ("bart", "masked-lm", {}),
        ("t5", "pretraining", {}),
        ("t5", "base", {"num_layers": 4}),
        ("bert", "base", {"is_decoder": True}),
        ("bert", "base", {"num_hidden_layers": 1}),
        ("albert", "base", {"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}),
    ],
)
def test_replayed_calls_with_a_head_or_another_configuration(
    family: str, task: str, changes: dict[str, Any]
) -> None:
    assert_replayed(opened(family, task, **changes))


def assert_replayed(it: Opened) -> None:
    """Replay the modules inside the layers, and those above them, and compare every call."""
    paths = [node.path for node in it.model.architecture.modules]
    inside = [path for path in paths if unit_of(path, tuple(it.cache.calls)) is not None]
    above = [path for path in paths if path not in inside]
    assert "" in above
    for chosen in (inside, above):
        found = replay(it.model, it.cache, chosen)
        assert set(found.calls) == set(it.everything.calls).intersection(chosen)
        for path in chosen:
            assert_same_calls(found, it.everything, path)


@every_family
def test_multiply_adds_are_those_that_torch_counts(family: str) -> None:
    it = known(family)
    counter = RunCounter(it.network)
    with counter.counting():
        it.plain()
    with counted_by_torch(it.network) as counted:
        it.network(**it.cache.inputs)
    found = counter.macs()
    assert counted[""] > 0
    for path, macs in found.items():
        assert macs.count is not None, (path, macs.reason)
        if is_known_to_torch(it.network.get_submodule(path)):
            assert 2 * macs.count == counted.get(path, 0), path


def eager_attentions(it: Opened) -> dict[str, list[NDArray[Any]]]:
    """Return the attention weights that transformers returns, by their kind."""
    config = it.network.config
    used = config._attn_implementation
    if used != "eager":
        it.network.set_attn_implementation("eager")
        config._attn_implementation = "eager"  # Falcon refuses the call before
    output = it.plain(output_attentions=True)
    if used != "eager":
        it.network.set_attn_implementation(used)
        config._attn_implementation = used
    kinds = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    return {
        kind: [weights[0].float().numpy() for weights in output[kind]]
        for kind in kinds
        if output.get(kind) is not None
    }


def kind_of(path: str, is_encoder_decoder: bool) -> str:
    if not is_encoder_decoder:
        return "attentions"
    if path.endswith(("encoder_attn", "EncDecAttention")):
        return "cross_attentions"
    return "encoder_attentions" if path.startswith("encoder") else "decoder_attentions"


def as_probabilities(family: str, weights: NDArray[Any]) -> NDArray[Any]:
    """Return what transformers returns for a family as probabilities."""
    if family == "squeezebert":  # it returns the scores
        return torch.from_numpy(weights).softmax(-1).numpy()
    if family == "big_bird":  # block 0 counts twice, and one of the weights is returned
        weights = weights.copy()
        weights[..., 0] += 1 - weights.sum(-1)
    return weights


@pytest.mark.parametrize("family", [*(it for it in DISTINCT if it != "transformer-base"), *MORE])
def test_attention_weights_are_those_of_transformers(family: str) -> None:
    it = model_of(family)
    expected = eager_attentions(it)
    maps = every_map(it)
    assert len(maps) == sum(map(len, expected.values())) > 0
    for found in maps:
        kind = kind_of(found.path, it.model.architecture.is_encoder_decoder)
        wanted = as_probabilities(family, expected[kind].pop(0))
        assert found.probabilities.dtype == np.float32
        assert found.probabilities == pytest.approx(wanted, abs=1e-5)
        assert found.probabilities.sum(-1) == pytest.approx(1, abs=1e-5)
        logs = np.log(np.where(wanted > 0, wanted, 1))
        assert found.entropies == pytest.approx(-(wanted * logs).sum(-1).mean(-1), abs=1e-4)
        if found.distances is not None:
            apart = np.abs(np.subtract.outer(found.query_tokens, found.key_tokens))
            assert found.distances == pytest.approx((wanted * apart).sum(-1).mean(-1), abs=1e-3)
        # Random weights are never exactly 0: only a mask is.
        is_zero = found.probabilities == 0
        hidden = np.zeros_like(is_zero) if found.masked is None else found.masked
        assert (hidden == is_zero).all()
        assert (found.masked is None) == (not is_zero.any())


@pytest.mark.parametrize("family", PADDED)
def test_padding_changes_nothing_with_a_mask_and_something_without(family: str) -> None:
    it = known(family)
    is_pair = family in ENCODER_DECODERS
    length = len([token for token in it.run.tokens if token.segment == 0 or not is_pair]) + 5
    found = compare_padding(it, length)
    assert found.is_same
    assert found.states[-1].changes
    assert bool(found.attentions) == (family != "squeezebert")  # it returns scores
    assert all(each.masked == 0 and 0 < each.unmasked < 1 for each in found.attentions)
    # A padded row is computed like any other, and is not 0.
    assert all(state.padded_norm > 0.1 for state in found.states[1:])
    assert found.mask == (1,) * found.count + (0,) * 5
    assert not found.is_causal
