"""Configuration objects: keys that clash with the class, missing files, and attributes."""

from typing import Any

import pytest
import torch
import transformers

from bertviewer.core.building.configurations import (
    build_config,
    clash_in_config,
    config_value,
    plain_config,
)
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.building.unused_keys import find_unused_keys
from bertviewer.core.graph.inputs.signature import number, text_inputs
from bertviewer.core.sources.model_source import find_task
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.building.test_models import TINY

VALUES: tuple[Any, ...] = (5, "x", [], {}, None, True)
NESTED = {"clip": "text_config", "blip": "vision_config", "encodec": "", "t5": "", "bamba": ""}


def refusal(config: dict[str, Any]) -> str:
    """Build a model; return why it is refused, "" if it is not."""
    try:
        build_on_meta(build_config(config, "it"), find_task("base"), "it")
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        *(
            (TINY | {key: value}, "BertConfig")
            for key in ("to_dict", "dict_dtype_to_str", "save_pretrained", "validate")
            for value in (5, None)
        ),
        (TINY | {"attribute_map": 5}, "BertConfig"),  # every access needs it
        (TINY | {"use_return_dict": True}, "BertConfig"),  # a read-only property
        ({"model_type": "clip", "text_config": {"to_dict": 5}}, "CLIPTextConfig"),
        (
            {"model_type": "clip", "text_config": {"model_type": "clip_text_model", "to_dict": 5}},
            "CLIPTextConfig",
        ),
    ],
    ids=str,
)
def test_a_key_that_hides_an_attribute_of_the_class(config: dict[str, Any], kind: str) -> None:
    key = list(config.get("text_config", config))[-1]
    assert f"the key '{key}' clashes with an attribute of {kind}" in refusal(config)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "dpt", "backbone": "org/name"}, "backbone 'org/name': it needs some"),
        ({"model_type": "upernet", "backbone": "/etc"}, "backbone '/etc': it needs something"),
        (
            {"model_type": "detr", "backbone": "org/name", "use_timm_backbone": False},
            "only the model's own files are read",
        ),
        (
            {"model_type": "detr", "backbone": "resnet50"},
            "it needs the library timm, which is missing",
        ),
        ({"model_type": "layoutlmv2"}, "it needs the library detectron2, which is missing"),
    ],
)
def test_missing_files_and_libraries_are_named_without_advice(
    config: dict[str, Any], reason: str
) -> None:
    message = refusal(config)
    assert reason in message
    for advice in ("install", "HF_", "http", "environment", "network"):
        assert advice not in message


@pytest.mark.parametrize("model_type", NESTED)
def test_any_name_of_a_class_with_any_value(model_type: str) -> None:
    """A sample of ``python -m tests.fuzz names``, which takes every family."""
    kind = transformers.CONFIG_MAPPING[model_type]
    for place, key in enumerate(dir(kind)):
        values: dict[str, Any] = {key: VALUES[place % len(VALUES)]}
        if nested := NESTED[model_type]:
            values = {nested: values}
        try:
            config = build_config({**values, "model_type": model_type}, "a test")
        except UserError:
            continue
        plain_config(config, "a test")


@pytest.mark.parametrize("model_type", ["bert", "clip", "t5", "bamba", "encodec", "timm_backbone"])
def test_defaults_do_not_clash(model_type: str) -> None:
    assert clash_in_config(transformers.CONFIG_MAPPING[model_type]()) == ""


class Raising(transformers.PreTrainedConfig):  # type: ignore[misc]
    """A configuration with properties that raise."""

    attribute_map = {"width": "hidden_size", "depth": "layers"}  # noqa: RUF012

    def __init__(self, **kwargs: object) -> None:
        self.hidden_size = 32
        super().__init__(**kwargs)

    @property
    def heads(self) -> int:
        raise ValueError

    @property
    def stopped(self) -> int:
        raise Cancelled


def test_an_attribute_or_its_default() -> None:
    config = Raising()
    assert config_value(config, "hidden_size") == config_value(config, "width") == 32
    assert config_value(config, "depth") is config_value(config, "heads") is None
    assert config_value(config, "heads", 3) == 3
    with pytest.raises(Cancelled):
        config_value(config, "stopped")


def different_layers(**first: object) -> transformers.PreTrainedConfig:
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2}
    sizes |= {"vocab_size": 50, "intermediate_size": 16, "num_hidden_layers": 2}
    return transformers.LlamaConfig(**sizes, per_layer_config={0: first})


@pytest.mark.parametrize("name", ["num_key_value_heads", "intermediate_size", "eos_token_id"])
def test_an_attribute_that_differs_between_layers(name: str) -> None:
    config = different_layers(**{name: 7})
    with pytest.raises(RuntimeError, match="per-layer attribute"):
        getattr(config, name)
    stored = vars(config)[name]
    assert config_value(config, name) == stored
    assert number(config, (name,)) == stored


def test_an_attribute_with_another_name_that_differs_between_layers() -> None:
    sizes = {"n_embd": 16, "n_head": 2, "vocab_size": 50, "n_layer": 2, "n_inner": 40}
    config = transformers.GPT2Config(**sizes, per_layer_config={0: {"n_embd": 8}})
    assert config_value(config, "hidden_size") == config_value(config, "n_embd") == 16


def test_inputs_and_keys_of_a_model_with_different_layers() -> None:
    config = different_layers(eos_token_id=5)
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    inputs = text_inputs(model, {"B": 1, "S": 3})
    assert inputs.arguments["input_ids"][0, -1] == config_value(config, "eos_token_id")
    data = {"eos_token_id": 5, "num_hidden_layers": 2, "rope_type": "odd"}
    assert "rope_type" in find_unused_keys(model, config, data, config.to_dict()).unused
