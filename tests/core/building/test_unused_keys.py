"""Configuration keys that a model never reads are found, with notices on those that matter."""

from typing import Any

import pytest

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.configurations import build_config, plain_config
from bertviewer.core.building.unused_keys import UnusedKeys, find_unused_keys
from tests.tools.small_models import small_configuration

# transformers still reads it, and logs its new name.
pytestmark = pytest.mark.filterwarnings("ignore:`rope_scaling` is deprecated:FutureWarning")


def keys_of(data: dict[str, Any], *, is_written: bool = False) -> UnusedKeys:
    """Return the unused keys of a configuration, or of what its class writes of it."""
    config = build_config(data, "x")
    plain = plain_config(config, "x")
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    return find_unused_keys(model, config, plain if is_written else data, plain)


def unused_keys(model_type: str, **more: Any) -> UnusedKeys:
    return keys_of({**small_configuration(model_type), **more})


@pytest.mark.parametrize(
    "model_type",
    ["bert", "gpt2", "llama", "xlnet", "deberta-v2", "modernbert", "distilbert", "clip", "bart"],
)
def test_an_ordinary_model_has_no_notices(model_type: str) -> None:
    found = unused_keys(model_type)
    assert not found.notices
    assert not found.unused


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("bert", "position_embedding_type", "relative_key"),
        ("roberta", "position_embedding_type", "alibi"),
        ("gpt2", "position_embedding_type", "rotary"),
        ("mpnet", "position_embedding_type", "relative_key_query"),
        ("esm", "position_embedding_type", "relative_key"),
        ("bert", "pruned_heads", {"0": [1, 2]}),
        ("electra", "rope_theta", 500.0),
        ("bert", "rope_scaling", {"type": "linear", "factor": 2.0}),
        ("llama", "sliding_window", 8),
        ("albert", "is_decoder", True),
        ("distilbert", "is_decoder", True),
        ("bert", "activation_function", "relu"),
        ("llama", "qk_norm", True),
        ("distilbert", "logit_softcap", 30.0),
    ],
)
def test_a_mechanism_that_the_model_lacks_has_a_notice(
    model_type: str, key: str, value: Any
) -> None:
    found = unused_keys(model_type, **{key: value})
    assert len(found.notices) == 1
    assert f"{key} = " in found.notices[0]


@pytest.mark.parametrize(
    ("model_type", "more"),
    [
        ("bert", {"position_embedding_type": "absolute", "pruned_heads": {}, "is_decoder": True}),
        ("bert", {"pooler_num_attention_heads": 12, "pooler_type": "first_token_transform"}),
        ("bert", {"hidden_activation": "gelu", "directionality": "bidi", "output_past": True}),
        ("llama", {"rope_theta": 500.0, "pretraining_tp": 2}),
        # Other names of keys that are read.
        ("gpt2", {"num_attention_heads": 12, "num_hidden_layers": 3}),
        ("distilbert", {"num_attention_heads": 12, "n_heads": 12}),
        ("gpt2", {"n_ctx": 1024, "task_specific_params": {"a": 1}, "rope_scaling": None}),
        ("esm", {"position_embedding_type": "rotary"}),
        ("t5", {"n_positions": 512, "max_length": 20}),
        ("distilbert", {"sinusoidal_pos_embds": True, "tie_weights_": True}),
        ("albert", {"net_structure_type": 0, "gap_size": 0, "layers_to_keep": []}),
    ],
)
def test_harmless_keys_have_no_notice(model_type: str, more: dict[str, Any]) -> None:
    assert unused_keys(model_type, **more).notices == ()


@pytest.mark.parametrize("model_type", ["gpt_bigcode", "lxmert", "pp_ocrv5_mobile_rec"])
def test_a_written_default_configuration_has_no_notices(model_type: str) -> None:
    assert keys_of({"model_type": model_type}, is_written=True).notices == ()


def test_a_value_that_follows_from_others_has_no_notice() -> None:
    data = {**small_configuration("deepseek_v2"), "qk_nope_head_dim": 24, "qk_rope_head_dim": 8}
    data |= {"num_hidden_layers": 1, "n_routed_experts": 8}
    data.pop("qk_head_dim", None)
    assert plain_config(build_config(data, "x"), "x")["qk_head_dim"] == 32
    assert keys_of(data, is_written=True).notices == ()


def test_unused_keys_have_their_values() -> None:
    unused = unused_keys("bert", n_embd=64, rope_scaling={"type": "linear", "factor": 2.0}).unused
    assert unused["n_embd"] == 64
    assert unused["rope_scaling"]["factor"] == 2.0


def test_keys_of_a_nested_configuration() -> None:
    data = small_configuration("clip")
    text = {**data["text_config"], "position_embedding_type": "relative_key"}
    found = unused_keys("clip", text_config=text)
    assert found.unused == {"text_config.position_embedding_type": "relative_key"}
    assert "text_config.position_embedding_type" in found.notices[0]


def test_a_notice_names_a_few_of_many_keys() -> None:
    keys = {f"rope_{number}": 8 for number in range(40)}
    (notice,) = unused_keys("bert", **keys).notices
    assert " and 30 more, which BertModel does not use" in notice
