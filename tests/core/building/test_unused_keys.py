"""Keys that a model's code never reads are found, and those that matter are said."""

from typing import Any

import pytest

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.building.configurations import build_config, plain_config
from bertviewer.core.building.unused_keys import UnusedKeys, find_unused_keys
from tests.tools.small_models import small_configuration

# transformers still reads it, and says what it is called now.
pytestmark = pytest.mark.filterwarnings("ignore:`rope_scaling` is deprecated:FutureWarning")


def use_of(model_type: str, **more: Any) -> UnusedKeys:
    """Return how a small model uses its configuration."""
    data = {**small_configuration(model_type), **more}
    config = build_config(data, "x")
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    return find_unused_keys(model, config, data, plain_config(config, "x"))


@pytest.mark.parametrize(
    "model_type",
    ["bert", "gpt2", "llama", "xlnet", "deberta-v2", "modernbert", "distilbert", "clip", "bart"],
)
def test_nothing_is_said_of_an_ordinary_model(model_type: str) -> None:
    found = use_of(model_type)
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
def test_a_way_of_computing_that_the_class_lacks_is_said(
    model_type: str, key: str, value: Any
) -> None:
    found = use_of(model_type, **{key: value})
    assert len(found.notices) == 1
    assert f"{key} = " in found.notices[0]


@pytest.mark.parametrize(
    ("model_type", "more"),
    [
        ("bert", {"position_embedding_type": "absolute", "pruned_heads": {}, "is_decoder": True}),
        ("bert", {"pooler_num_attention_heads": 12, "pooler_type": "first_token_transform"}),
        ("bert", {"hidden_activation": "gelu", "directionality": "bidi", "output_past": True}),
        ("llama", {"rope_theta": 500.0, "pretraining_tp": 2}),
        ("gpt2", {"n_ctx": 1024, "task_specific_params": {"a": 1}, "rope_scaling": None}),
        ("esm", {"position_embedding_type": "rotary"}),
        ("t5", {"n_positions": 512, "max_length": 20}),
        ("distilbert", {"sinusoidal_pos_embds": True, "tie_weights_": True}),
        ("albert", {"net_structure_type": 0, "gap_size": 0, "layers_to_keep": []}),
    ],
)
def test_harmless_keys_are_not(model_type: str, more: dict[str, Any]) -> None:
    assert use_of(model_type, **more).notices == ()


@pytest.mark.parametrize("model_type", ["gpt_bigcode", "lxmert", "pp_ocrv5_mobile_rec"])
def test_nothing_is_said_of_what_a_default_configuration_writes(model_type: str) -> None:
    config = transformers.CONFIG_MAPPING[model_type]()
    written = plain_config(config, "x")
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    assert find_unused_keys(model, config, written, written).notices == ()


def test_nothing_is_said_of_a_value_that_follows_from_others() -> None:
    data = {**small_configuration("deepseek_v2"), "qk_nope_head_dim": 24, "qk_rope_head_dim": 8}
    data |= {"num_hidden_layers": 1, "n_routed_experts": 8}
    data.pop("qk_head_dim", None)
    config = build_config(data, "x")
    written = plain_config(config, "x")
    assert written["qk_head_dim"] == 32
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    assert find_unused_keys(model, config, written, written).notices == ()


def test_unused_keys_have_their_values() -> None:
    unused = use_of("bert", n_embd=64, rope_scaling={"type": "linear", "factor": 2.0}).unused
    assert unused["n_embd"] == 64
    assert unused["rope_scaling"]["factor"] == 2.0


def test_a_part_of_a_configuration_is_looked_into() -> None:
    data = small_configuration("clip")
    text = {**data["text_config"], "position_embedding_type": "relative_key"}
    found = use_of("clip", text_config=text)
    assert found.unused == {"text_config.position_embedding_type": "relative_key"}
    assert "text_config.position_embedding_type" in found.notices[0]


def test_of_very_many_keys_some_are_named() -> None:
    keys = {f"rope_{number}": 8 for number in range(1000)}
    (notice,) = use_of("bert", **keys).notices
    assert " and 990 more, which BertModel does not use" in notice
