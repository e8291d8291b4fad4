"""Configuration objects: keys that clash with the class, and reading attributes."""

import json
from pathlib import Path
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
from bertviewer.core.building.unused_keys import find_unused_keys
from bertviewer.core.graph.inputs.signature import number, text_inputs
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.building.test_models import TINY

VALUES: tuple[Any, ...] = (5, "x", [], {}, None, True)
NESTED = {"clip": "text_config", "blip": "vision_config", "encodec": "", "t5": "", "bamba": ""}


def refusal(folder: Path, config: dict[str, Any]) -> str:
    """Open a configuration; return why not, "" if it opens."""
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    try:
        open_model(parse_source(str(path)), store=False)
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("key", ["to_dict", "dict_dtype_to_str", "save_pretrained", "validate"])
@pytest.mark.parametrize("value", [5, None])
def test_a_method(key: str, value: object, tmp_path: Path) -> None:
    said = f"the key '{key}' clashes with an attribute of BertConfig"
    assert said in refusal(tmp_path, TINY | {key: value})


def test_what_every_access_goes_through(tmp_path: Path) -> None:
    assert "the key 'attribute_map'" in refusal(tmp_path, TINY | {"attribute_map": 5})


def test_a_value_that_the_class_works_out(tmp_path: Path) -> None:
    assert "the key 'use_return_dict'" in refusal(tmp_path, TINY | {"use_return_dict": True})


def test_in_a_nested_configuration(tmp_path: Path) -> None:
    for inner in ({"to_dict": 5}, {"model_type": "clip_text_model", "to_dict": 5}):
        said = refusal(tmp_path, {"model_type": "clip", "text_config": inner})
        assert "the key 'to_dict' clashes with an attribute of CLIPTextConfig" in said


@pytest.mark.parametrize(
    ("config", "said"),
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
def test_what_lies_elsewhere_or_is_missing_is_told_without_advice(
    config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    line = refusal(tmp_path, config)
    assert said in line
    for advice in ("install", "HF_", "http", "environment", "network"):
        assert advice not in line


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


def test_no_class_hides_its_own_methods() -> None:
    for model_type in ("bert", "clip", "t5", "bamba", "encodec", "timm_backbone", "rag"):
        kind = transformers.CONFIG_MAPPING[model_type]
        if model_type != "rag":  # which is made of two others
            assert clash_in_config(kind()) == ""


class Raising(transformers.PreTrainedConfig):  # type: ignore[misc]
    """Its properties raise."""

    attribute_map = {"width": "hidden_size"}  # noqa: RUF012

    def __init__(self, **kwargs: object) -> None:
        self.hidden_size = 32
        super().__init__(**kwargs)

    @property
    def heads(self) -> int:
        """Raise what no caller expects."""
        raise ValueError

    @property
    def stopped(self) -> int:
        """Raise what every caller passes on."""
        raise Cancelled


def of_two_layers(**first: object) -> transformers.PreTrainedConfig:
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2}
    sizes |= {"vocab_size": 50, "intermediate_size": 16, "num_hidden_layers": 2}
    return transformers.LlamaConfig(**sizes, per_layer_config={0: first})


def test_the_value_or_the_default() -> None:
    config = Raising()
    assert config_value(config, "hidden_size") == config_value(config, "width") == 32
    assert config_value(config, "depth") is config_value(config, "heads") is None
    assert config_value(config, "heads", 3) == 3
    with pytest.raises(Cancelled):
        config_value(config, "stopped")


@pytest.mark.parametrize("name", ["num_key_value_heads", "intermediate_size", "eos_token_id"])
def test_what_differs_between_layers_is_read_as_it_is_for_all(name: str) -> None:
    config = of_two_layers(**{name: 7})
    with pytest.raises(RuntimeError, match="per-layer attribute"):
        getattr(config, name)
    stored = vars(config)[name]
    assert config_value(config, name) == stored
    assert number(config, (name,)) == stored


def test_inputs_and_keys_of_such_a_model() -> None:
    config = of_two_layers(eos_token_id=5)
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    inputs = text_inputs(model, {"B": 1, "S": 3})
    assert inputs.arguments["input_ids"][0, -1] == config_value(config, "eos_token_id")
    data = {"eos_token_id": 5, "num_hidden_layers": 2, "rope_type": "odd"}
    assert "rope_type" in find_unused_keys(model, config, data, config.to_dict()).unused
