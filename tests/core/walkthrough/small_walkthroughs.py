"""Presets and small models of many families with their data-flow graphs, not derived."""

from functools import cache
from typing import Any

import torch
import transformers
from msgspec.structs import replace

from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import LENGTHS, meta_trace
from bertviewer.core.loading.deriving import with_flows
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.core.walkthrough.walkthrough import Step, Walkthrough
from tests.core.formulas.formula_models import TINY
from tests.core.opened import plain

SMALL: dict[str, dict[str, Any]] = {
    **TINY,
    "mixtral": {**TINY["llama"], "num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen3_moe": {
        **TINY["qwen3"], "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 20,
    },
    "mobilebert": {
        **TINY["bert"], "embedding_size": 12, "intra_bottleneck_size": 12, "true_hidden_size": 12,
        "num_feedforward_networks": 2, "pad_token_id": 0,
    },
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
    "mamba": {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 2, "state_size": 4},
    "opt": {
        "vocab_size": 97, "hidden_size": 24, "word_embed_proj_dim": 16, "num_hidden_layers": 2,
        "num_attention_heads": 3, "ffn_dim": 40, "max_position_embeddings": 32,
    },
    "gptj": {
        "vocab_size": 97, "n_embd": 24, "n_layer": 2, "n_head": 3, "rotary_dim": 4,
        "bos_token_id": 1, "eos_token_id": 2,
    },
    "clip": {
        "text_config": {**TINY["bert"], "projection_dim": 16},
        "vision_config": {
            "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
            "intermediate_size": 40, "image_size": 32, "patch_size": 16,
        },
        "projection_dim": 16,
    },
    "vit": {
        "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
        "intermediate_size": 40, "image_size": 32,
    },
    "swin": {
        "embed_dim": 12, "depths": [2, 4], "num_heads": [2, 3], "window_size": 2,
        "image_size": 32, "patch_size": 4,
    },
}  # fmt: skip


MORE: dict[str, dict[str, Any]] = {
    "m2m_100": {**TINY["bart"], "scale_embedding": True},
    "marian": {**TINY["bart"], "scale_embedding": True, "pad_token_id": 0},
    "granite": {**TINY["llama"], "embedding_multiplier": 12.0},
    "rwkv": {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 40},
    "longformer": {**TINY["bert"], "attention_window": 4},
}
"""Models with further kinds of steps."""


def config(family: str, **changes: Any) -> transformers.PreTrainedConfig:
    """Return the configuration of a small model."""
    return transformers.AutoConfig.for_model(family, **{**SMALL, **MORE}[family] | changes)


@cache
def small(family: str, task: str = "base", **changes: Any) -> Architecture:
    """Return a small model of a family with its graphs."""
    values = config(family, **changes)
    auto = "AutoModel" if task == "base" else "AutoModelForMaskedLM"
    with torch.device("meta"):
        model = getattr(transformers, auto).from_config(values)
    source = SourceInfo("preset", f"small-{family}", task, "none")
    architecture = inspect_module(model, source, values.to_dict())
    flows = FlowReader(meta_trace(model.eval(), LENGTHS), architecture).flows(LENGTHS)
    return replace(architecture, flows=flows)


@cache
def flowing(name: str, task: str = "base") -> Architecture:
    """Return a preset with its graphs, before any formula is derived."""
    return with_flows(plain(name, task), parse_source(name, task), no_progress)


def step(walk: Walkthrough, name: str) -> Step:
    """Return the first step of a name."""
    return next(step for step in walk.steps if step.name == name)
