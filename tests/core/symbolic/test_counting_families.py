"""Formulas of random configurations hold for these, and for other random ones of the family."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bertviewer.core.backend import torch
from bertviewer.core.building.building import build_config, build_on_meta
from bertviewer.core.expressions.evaluation import evaluate, letters_of
from bertviewer.core.expressions.symbols import symbols_of
from bertviewer.core.source.tasks import find_task
from bertviewer.core.symbolic.counts import Derivation, derive
from tests.examined import independent_counts

Config = dict[str, Any]

TASK = find_task("base")


def sizes(draw: st.DrawFn) -> dict[str, int]:
    """Draw what every family has: widths that the heads divide, a vocabulary, a depth."""
    heads = draw(st.integers(1, 4))
    return {
        "A": heads,
        "D": heads * draw(st.sampled_from((4, 6, 10, 16))),
        "I": draw(st.integers(3, 90)),
        "V": draw(st.integers(20, 300)),
        "L": draw(st.integers(8, 70)),
        "N": draw(st.integers(1, 4)),
        "T": draw(st.integers(1, 5)),
    }


def bert_like(model_type: str, **more: Any) -> Callable[[dict[str, int]], Config]:
    """Return what makes a configuration with BERT's keys."""
    return lambda s: {
        "model_type": model_type,
        "vocab_size": s["V"],
        "hidden_size": s["D"],
        "num_hidden_layers": s["N"],
        "num_attention_heads": s["A"],
        "intermediate_size": s["I"],
        "max_position_embeddings": s["L"],
        "type_vocab_size": s["T"],
        "pad_token_id": 0,
        **more,
    }


def electra(s: dict[str, int]) -> Config:
    # An embedding as wide as the model would leave the projection out: another architecture.
    return {**bert_like("electra")(s), "embedding_size": s["D"] + 2}


def albert(s: dict[str, int]) -> Config:
    return {**bert_like("albert")(s), "embedding_size": s["D"] + 2}


def gpt2(s: dict[str, int]) -> Config:
    return {
        "model_type": "gpt2",
        "vocab_size": s["V"],
        "n_embd": s["D"],
        "n_layer": s["N"],
        "n_head": s["A"],
        "n_inner": s["I"],
        "n_positions": s["L"],
    }


def t5(s: dict[str, int]) -> Config:
    return {
        "model_type": "t5",
        "vocab_size": s["V"],
        "d_model": s["D"],
        "d_kv": s["T"] + 3,
        "d_ff": s["I"],
        "num_heads": s["A"],
        "num_layers": s["N"] + 1,
        "num_decoder_layers": s["N"],
    }


def bart(s: dict[str, int]) -> Config:
    return {
        "model_type": "bart",
        "vocab_size": s["V"],
        "d_model": s["D"],
        "encoder_layers": s["N"],
        "decoder_layers": s["N"] + 1,
        "encoder_attention_heads": s["A"],
        "decoder_attention_heads": s["A"],
        "encoder_ffn_dim": s["I"],
        "decoder_ffn_dim": s["I"] + 1,
        "max_position_embeddings": s["L"],
        "pad_token_id": 1,
    }


def llama(s: dict[str, int]) -> Config:
    # Two query heads share each head of keys and values.
    return {
        "model_type": "llama",
        "vocab_size": s["V"],
        "hidden_size": 2 * s["D"],
        "num_hidden_layers": s["N"],
        "num_attention_heads": 2 * s["A"],
        "num_key_value_heads": s["A"],
        "intermediate_size": s["I"],
        "pad_token_id": 0,
    }


FAMILIES: Mapping[str, Callable[[dict[str, int]], Config]] = {
    "mpnet": bert_like("mpnet"),
    "electra": electra,
    "albert": albert,
    "gpt2": gpt2,
    "t5": t5,
    "bart": bart,
    "llama": llama,
}


def built(values: Mapping[str, Any]) -> torch.nn.Module:
    return build_on_meta(build_config(values, "a test"), TASK, "a test")


def derived(config: Config) -> tuple[Derivation, Mapping[str, Any]]:
    """Return the formulas, and the whole configuration that they are of."""
    whole: Mapping[str, Any] = build_config(config, "a test").to_dict()
    return derive(whole, built), whole


@pytest.mark.parametrize("family", FAMILIES)
@settings(
    max_examples=2,
    derandomize=True,
    # Shrinking would derive hundreds of times; the drawn sizes are small enough to read.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_formulas_hold_for_any_configuration(family: str, data: st.DataObject) -> None:
    draw = data.draw(st.composite(sizes)(), label="derived")
    other = data.draw(st.composite(sizes)(), label="tried")
    found, whole = derived(FAMILIES[family](draw))
    assert found.unproven == {}
    assert letters_of(found.counts[""])
    for config in (whole, build_config(FAMILIES[family](other), "a test").to_dict()):
        model = built(config)
        values = {symbol.letter: symbol.value for symbol in symbols_of(config)}
        counts = independent_counts(model)
        for path in counts.keys() & found.counts.keys():
            assert evaluate(found.counts[path], values) == counts[path], path
        for name, tensor in model.named_parameters(remove_duplicate=False):
            if (shape := found.shapes.get(name)) is not None:
                assert tuple(evaluate(size, values) for size in shape) == tuple(tensor.shape), name
