"""Attributes of a configuration are read whatever its class does about it."""

import pytest
import torch
import transformers

from bertviewer.core.building.config_values import config_value
from bertviewer.core.building.unused_keys import key_use
from bertviewer.core.graph.inputs.forward_signature import number
from bertviewer.core.graph.inputs.texts import text_inputs
from bertviewer.core.util.errors import Cancelled


class Odd(transformers.PreTrainedConfig):  # type: ignore[misc]
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
    config = Odd()
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
    assert "rope_type" in key_use(model, config, data, config.to_dict()).unused
