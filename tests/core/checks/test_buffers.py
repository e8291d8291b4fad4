"""Buffers and tables that follow from the configuration are computed again, not copied."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertviewer.core.checks.check import check_module, check_run, replay_step
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from tests.core.checks.small_models import Crosses, crosses, run, small_model
from tests.core.checks.test_faults import SIZES
from tests.core.loading.saved_models import opened, save

WITH_HEADS = {**SIZES, "num_key_value_heads": 2, "head_dim": 8}
GPT_J = {
    **{"vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4},
    **{"n_positions": 64, "bos_token_id": 1, "eos_token_id": 2},
}
GPT_NEO = {
    **{"vocab_size": 97, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 2},
    **{"attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64},
}
PAIR = {
    **{"pad_token_id": 0, "decoder_start_token_id": 2},
    **{"vocab_size": 97, "d_model": 32, "max_position_embeddings": 64},
    **{"encoder_layers": 1, "encoder_attention_heads": 4, "encoder_ffn_dim": 40},
    **{"decoder_layers": 1, "decoder_attention_heads": 4, "decoder_ffn_dim": 40},
}
# More landmarks than one segment has: the attention is an approximation.
LANDMARKS = {**SIZES, "num_landmarks": 4, "segment_means_seq_len": 8}
XGLM = {
    **{"vocab_size": 97, "d_model": 32, "num_layers": 1, "attention_heads": 4, "ffn_dim": 40},
    "max_position_embeddings": 64,
}
SENTENCE = Sentence("one two three four five six seven eight")


def crosses_of(model: LoadedModel) -> Crosses:
    return crosses(check_run(model, run(model, SENTENCE)))


def other_base(frequencies: Tensor) -> Tensor:
    """Return the frequencies of a rotary base that is five times as large."""
    steps = torch.arange(len(frequencies)).float() / len(frequencies)
    return frequencies / 5**steps


def shifted(table: Tensor) -> Tensor:
    return table.roll(1, 0)


def reversed_ids(ids: Tensor) -> Tensor:
    return ids.flip(-1)


@pytest.mark.parametrize(
    ("family", "values", "buffer", "change"),
    [
        ("gpt_neox", {**SIZES, "rotary_pct": 1.0}, "rotary_emb.inv_freq", other_base),
        ("gemma3_text", WITH_HEADS, "rotary_emb.sliding_attention_inv_freq", other_base),
        ("phi3", SIZES, "rotary_emb.inv_freq", other_base),
        ("modernbert", {}, "rotary_emb.sliding_attention_inv_freq", other_base),
        ("nystromformer", LANDMARKS, "embeddings.position_ids", reversed_ids),
        ("gemma", {}, "embed_tokens.embed_scale", lambda scale: scale * 1.01),
        ("gptj", GPT_J, "h.1.attn.embed_positions", shifted),
        ("gpt_neo", GPT_NEO, "h.1.attn.attention.bias", torch.ones_like),
        ("xglm", XGLM, "embed_positions.weights", shifted),
        ("m2m_100", PAIR, "encoder.embed_positions.weights", shifted),
        # It is persistent, and no checkpoint has it.
        ("mra", SIZES, "embeddings.position_ids", reversed_ids),
    ],
)
def test_a_fault_in_a_buffer_is_found(
    family: str, values: dict[str, Any], buffer: str, change: Any
) -> None:
    model = small_model(family, **values)
    assert crosses_of(model) == set()
    path, _, name = buffer.rpartition(".")
    owner = model.module(random_weights=True).get_submodule(path)
    owner.register_buffer(name, change(getattr(owner, name).clone()), persistent=False)
    assert path in {found for found, _ in crosses_of(model)}


@pytest.mark.parametrize(
    ("family", "values", "path"),
    [
        ("pegasus", PAIR, "decoder.embed_positions"),
        ("roformer", {}, "encoder.embed_positions"),
        ("marian", {**PAIR, "dtype": "bfloat16"}, "encoder.embed_positions"),
    ],
)
def test_a_fault_in_an_untrained_table_is_found(
    family: str, values: dict[str, Any], path: str
) -> None:
    model = small_model(family, **values)
    assert crosses_of(model) == set()
    table = model.module(random_weights=True).get_parameter(f"{path}.weight")
    with torch.no_grad():
        table.copy_(shifted(table))
    cache = run(model, SENTENCE)
    assert (path, "output") in crosses(check_run(model, cache))
    step = next(one for one in check_module(model, cache, path).steps if not one.ok)
    assert not replay_step(model, cache, step).ok


@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize("is_stored", [True, False])
def test_a_table_in_the_checkpoint_is_a_weight(
    is_stored: bool, offload: bool, tmp_path: Path
) -> None:
    save(tmp_path, "roformer")  # with another table
    name = "encoder.embed_positions.weight"
    if not is_stored:
        file = tmp_path / "model.safetensors"
        save_file({n: t for n, t in load_file(file).items() if n != name}, file)
    model = opened(tmp_path, "roformer", offload=offload)

    def found() -> Crosses:
        cache = ActivationCache()
        run_sentence(model, SENTENCE, cache=cache)
        return crosses(check_run(model, cache))

    assert found() == set()
    if not is_stored:
        table = model.running_module.get_parameter(name)
        with torch.no_grad():
            table.copy_(shifted(table))
        assert ("encoder.embed_positions", "output") in found()


@pytest.mark.parametrize(
    ("family", "values"), [("gptj", GPT_J), ("gemma2", WITH_HEADS), ("xglm", XGLM)]
)
def test_buffers_of_a_model_in_bfloat16_are_the_same(family: str, values: dict[str, Any]) -> None:
    assert crosses_of(small_model(family, **values, dtype="bfloat16")) == set()


YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
LONG = {
    **{"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 6},
    **{"short_factor": [1.0] * 4, "long_factor": [4.0] * 4},
}


@pytest.mark.parametrize("rope", [YARN, DYNAMIC, LONG], ids=lambda rope: str(rope["rope_type"]))
def test_scaled_rotary_positions_at_every_length(rope: dict[str, Any]) -> None:
    values = {**WITH_HEADS, "max_position_embeddings": 12, "rope_parameters": rope}
    model = small_model("olmo2", **values)
    outputs = []
    for words in (14, 30, 14):
        cache = run(model, Sentence("word " * words))
        assert crosses(check_run(model, cache)) == set(), words
        outputs.append(cache.calls[""][0].output["last_hidden_state"])
    # The result of a sentence does not depend on those before it.
    assert torch.equal(outputs[0], outputs[2])


def test_a_convolution_between_a_layer_and_its_hidden_state() -> None:
    model = small_model("deberta-v2", conv_kernel_size=3, conv_act="gelu")
    assert crosses_of(model) == set()
    convolution: Any = model.module(random_weights=True).get_submodule("encoder.conv")
    convolution.conv_act = "relu"
    assert {path for path, _ in crosses_of(model)} & {"encoder", "encoder.conv"}
