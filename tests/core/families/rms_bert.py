"""A family that nobody has: BERT with RMS norms in place of its layer norms."""

from dataclasses import replace

import torch
import transformers
from torch import nn

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.source_info import SourceInfo
from bertviewer.core.families.bert import BERT
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.flow.meta_trace import meta_trace
from bertviewer.core.flow.reading import FlowReader
from bertviewer.core.flow.tracing_models import LENGTHS
from bertviewer.core.loading.inspection import inspect_module

SAGA = replace(
    BERT,
    prefixes=("Saga",),
    endings={**BERT.endings, "Norm": ModuleKind.RMS_NORM},
)


class SagaNorm(nn.RMSNorm):
    pass


def architecture(norm: type[nn.Module] = SagaNorm) -> Architecture:
    """Return a small one with the flows of its modules; ``norm`` makes its norms."""
    config = transformers.BertConfig(
        vocab_size=97,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        max_position_embeddings=32,
    )
    with torch.device("meta"):
        model = transformers.BertForMaskedLM(config).eval()
        for module in list(model.modules()):
            for name, child in module.named_children():
                if isinstance(child, nn.LayerNorm):
                    setattr(module, name, norm(config.hidden_size, eps=config.layer_norm_eps))
    for module in model.modules():
        made = type(module)
        if made.__name__.startswith("Bert"):
            module.__class__ = type(made.__name__.replace("Bert", "Saga", 1), (made,), {})
    source = SourceInfo("preset", "saga", "fill-mask", "none")
    found = inspect_module(model, source, config.to_dict())
    return replace(found, flows=FlowReader(meta_trace(model, LENGTHS), found).flows(LENGTHS))
