"""A family that nobody has: its classes, a small model of it, and what there is to say of it."""

from dataclasses import replace
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.source_info import SourceInfo
from bertviewer.core.families.family import Family
from bertviewer.core.families.layer import Layer, Network, SubLayer
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.flow.meta_trace import meta_trace
from bertviewer.core.flow.reading import FlowReader
from bertviewer.core.flow.tracing_models import LENGTHS
from bertviewer.core.loading.inspection import inspect_module

FABLE = Family(
    prefixes=("Fable",),
    endings={
        "Table": ModuleKind.EMBEDDING,
        "Norm": ModuleKind.LAYER_NORM,
        "Mixing": ModuleKind.TORCH_ATTENTION,
        "Network": Network("up", "bend", "down"),
        "Layer": Layer(
            takes=("states",),
            attention=SubLayer("mix", norm="before", given=("key=", "value=")),
            network="network",
            network_norm="again",
            norms="before",
        ),
    },
)

LAYERS, WIDTH = 2, 24


class FableConfig(transformers.PreTrainedConfig):  # type: ignore[misc]
    model_type = "fable"

    vocab_size: int = 97
    hidden_size: int = WIDTH
    num_hidden_layers: int = LAYERS
    num_attention_heads: int = 3
    pad_token_id: int | None = 0


class FableTable(nn.Embedding):
    pass


class FableNorm(nn.LayerNorm):
    pass


class FableMixing(nn.MultiheadAttention):
    pass


class FableNetwork(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.bend = nn.SiLU()
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.down(self.bend(self.up(x)))
        return result


class FableLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before = FableNorm(width)
        self.mix = FableMixing(width, heads, batch_first=True)
        self.again = FableNorm(width)
        self.network = FableNetwork(width)

    def forward(self, states: Tensor) -> Tensor:
        normed = self.before(states)
        states = states + self.mix(normed, normed, normed)[0]
        result: Tensor = states + self.network(self.again(states))
        return result


class FableModel(transformers.PreTrainedModel):  # type: ignore[misc]
    config_class = FableConfig
    main_input_name = "input_ids"

    def __init__(self, config: FableConfig) -> None:
        super().__init__(config)
        width, heads = config.hidden_size, config.num_attention_heads
        self.table = FableTable(config.vocab_size, width)
        self.layers = nn.ModuleList(
            FableLayer(width, heads) for _ in range(config.num_hidden_layers)
        )
        self.post_init()

    def forward(self, input_ids: Tensor, **_: Any) -> BaseModelOutput:
        x = self.table(input_ids)
        for layer in self.layers:
            x = layer(x)
        return BaseModelOutput(last_hidden_state=x)


def model() -> FableModel:
    """Return a small model whose weights are those of a seed, in evaluation."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        built: FableModel = FableModel(FableConfig()).eval()
    return built


def architecture() -> Architecture:
    """Return it with the flows of its modules, as it is opened."""
    with torch.device("meta"):
        built = FableModel(FableConfig()).eval()
    source = SourceInfo("preset", "fable", "base", "none")
    found = inspect_module(built, source, FableConfig().to_dict())
    return replace(found, flows=FlowReader(meta_trace(built, LENGTHS), found).flows(LENGTHS))
