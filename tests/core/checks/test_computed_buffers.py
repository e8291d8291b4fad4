"""A buffer that follows from the configuration is computed a second time, and never copied."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviewer.core.checks.check import check_module, check_run, replay_step
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from tests.core.checks.crossing import crosses
from tests.core.checks.small_models import run, small_model
from tests.core.loading.saved_models import opened, save

_SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_WITH_HEADS = {**_SIZES, "num_key_value_heads": 2, "head_dim": 8}
_GPT_J = {
    **{"vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4},
    **{"n_positions": 64, "bos_token_id": 1, "eos_token_id": 2},
}
_GPT_NEO = {
    **{"vocab_size": 97, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 2},
    **{"attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64},
}
_PAIR = {
    **{"pad_token_id": 0, "decoder_start_token_id": 2},
    **{"vocab_size": 97, "d_model": 32, "max_position_embeddings": 64},
    **{"encoder_layers": 1, "encoder_attention_heads": 4, "encoder_ffn_dim": 40},
    **{"decoder_layers": 1, "decoder_attention_heads": 4, "decoder_ffn_dim": 40},
}
# More landmarks than one segment has: the attention is an approximation.
_LANDMARKS = {**_SIZES, "num_landmarks": 4, "segment_means_seq_len": 8}
_XGLM = {
    **{"vocab_size": 97, "d_model": 32, "num_layers": 1, "attention_heads": 4, "ffn_dim": 40},
    "max_position_embeddings": 64,
}
SENTENCE = Sentence("one two three four five six seven eight")


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """Return frequencies of a rotary base five times as large."""
    steps = torch.arange(len(tensor)).float() / len(tensor)
    return tensor / 5**steps


def shown(mask: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(mask)


def moved(table: torch.Tensor) -> torch.Tensor:
    return table.roll(1, 0)


def reversed_(ids: torch.Tensor) -> torch.Tensor:
    return ids.flip(-1)


@pytest.mark.parametrize(
    ("family", "values", "buffer", "change"),
    [
        ("gpt_neox", {**_SIZES, "rotary_pct": 1.0}, "rotary_emb.inv_freq", turned),
        ("gemma3_text", _WITH_HEADS, "rotary_emb.sliding_attention_inv_freq", turned),
        ("phi3", _SIZES, "rotary_emb.inv_freq", turned),
        ("modernbert", {}, "rotary_emb.sliding_attention_inv_freq", turned),
        ("nystromformer", _LANDMARKS, "embeddings.position_ids", reversed_),
        ("gemma", {}, "embed_tokens.embed_scale", lambda scale: scale * 1.01),
        ("gptj", _GPT_J, "h.1.attn.embed_positions", moved),
        ("gpt_neo", _GPT_NEO, "h.1.attn.attention.bias", shown),
        ("xglm", _XGLM, "embed_positions.weights", moved),
        ("m2m_100", _PAIR, "encoder.embed_positions.weights", moved),
        # It is persistent, and there is no checkpoint that has it.
        ("mra", _SIZES, "embeddings.position_ids", reversed_),
    ],
)
def test_a_fault_in_a_buffer_is_found(
    family: str, values: dict[str, Any], buffer: str, change: Any
) -> None:
    model = small_model(family, **values)
    assert _faults(model) == set()
    path, _, name = buffer.rpartition(".")
    owner = model.module(random_weights=True).get_submodule(path)
    owner.register_buffer(name, change(getattr(owner, name).clone()), persistent=False)
    assert path in {found for found, _ in _faults(model)}


@pytest.mark.parametrize(
    ("family", "values", "path"),
    [
        ("pegasus", _PAIR, "decoder.embed_positions"),
        ("roformer", {}, "encoder.embed_positions"),
        ("marian", {**_PAIR, "dtype": "bfloat16"}, "encoder.embed_positions"),
    ],
)
def test_a_fault_in_a_table_that_is_not_trained_is_found(
    family: str, values: dict[str, Any], path: str
) -> None:
    model = small_model(family, **values)
    assert _faults(model) == set()
    table = model.module(random_weights=True).get_parameter(f"{path}.weight")
    with torch.no_grad():
        table.copy_(moved(table))
    capture = run(model, SENTENCE)
    assert (path, "output") in crosses(check_run(model, capture))
    step = next(one for one in check_module(model, capture, path).steps if not one.ok)
    assert not replay_step(model, capture, step).ok


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
    assert _faults_of(model) == set()
    if not is_stored:
        table = model.running_module.get_parameter(name)
        with torch.no_grad():
            table.copy_(moved(table))
        assert ("encoder.embed_positions", "output") in _faults_of(model)


def _faults_of(model: LoadedModel) -> set[tuple[str, str]]:
    capture = ActivationCache()
    run_sentence(model, SENTENCE, cache=capture)
    return crosses(check_run(model, capture))


def _faults(model: LoadedModel) -> set[tuple[str, str]]:
    return crosses(check_run(model, run(model, SENTENCE)))


@pytest.mark.parametrize(
    ("family", "values"), [("gptj", _GPT_J), ("gemma2", _WITH_HEADS), ("xglm", _XGLM)]
)
def test_buffers_of_a_model_in_bfloat16_are_the_same(family: str, values: dict[str, Any]) -> None:
    assert _faults(small_model(family, **values, dtype="bfloat16")) == set()


_YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}
_DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
_LONG = {
    **{"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 6},
    **{"short_factor": [1.0] * 4, "long_factor": [4.0] * 4},
}


@pytest.mark.parametrize("rope", [_YARN, _DYNAMIC, _LONG], ids=lambda rope: str(rope["rope_type"]))
def test_scaled_rotary_positions_are_right_at_every_length(rope: dict[str, Any]) -> None:
    values = {**_WITH_HEADS, "max_position_embeddings": 12, "rope_parameters": rope}
    model = small_model("olmo2", **values)
    outputs = []
    for words in (14, 30, 14):
        capture = run(model, Sentence("word " * words))
        assert crosses(check_run(model, capture)) == set(), words
        outputs.append(capture.calls[""][0].output["last_hidden_state"])
    # What a sentence gives does not depend on those before it.
    assert torch.equal(outputs[0], outputs[2])


def test_a_convolution_between_a_layer_and_its_hidden_state() -> None:
    model = small_model("deberta-v2", conv_kernel_size=3, conv_act="gelu")
    capture = run(model, SENTENCE)
    assert crosses(check_run(model, capture)) == set()
    convolution: Any = model.module(random_weights=True).get_submodule("encoder.conv")
    convolution.conv_act = "relu"
    found = crosses(check_run(model, run(model, SENTENCE)))
    assert {path for path, _ in found} & {"encoder", "encoder.conv"}
