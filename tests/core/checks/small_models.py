"""Small models of every family with weights from a seed, opened and run for a check."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any
from weakref import WeakSet

import torch
import transformers

from bertviewer.core.loading.cached_models import ModelSpec
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.meta_model import inspect_module
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import TASKS, ModelSource, find_task
from tests.core.formulas.formula_models import TINY, config_of

SENTENCE = Sentence("the cat sat on the mat", "and so on")
FAMILIES = tuple(TINY)
_shaken: WeakSet[LoadedModel] = WeakSet()

_NARROW = {
    "vocab_size": 97,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 40,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_EXPERTS = {
    **_NARROW,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
}
_T5 = {"vocab_size": 97, "d_model": 24, "d_kv": 8, "d_ff": 40, "num_heads": 3, "num_layers": 2}
_LSH = {"attn_layers": ["lsh"], "axial_pos_shape": [4, 6], "axial_pos_embds_dim": [16, 16]}
WITHOUT_FORMULAS: dict[str, dict[str, Any]] = {
    "convbert": {**TINY["electra"], "hidden_size": 32, "num_attention_heads": 4},
    "fnet": TINY["bert"],
    "funnel": {
        **{"vocab_size": 97, "d_model": 24, "n_head": 3, "d_head": 8, "d_inner": 40},
        **{"block_sizes": [1, 1], "num_decoder_layers": 1, "architectures": ["FunnelModel"]},
    },
    "layoutlm": TINY["bert"],
    "mamba": {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 2, "state_size": 8},
    "mixtral": _EXPERTS,
    "qwen3_moe": _EXPERTS,
    "reformer": {**_NARROW, **_LSH, "lsh_attn_chunk_length": 4, "num_buckets": 4},
    "rwkv": {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 4, "rescale_every": 2},
    "switch_transformers": {
        **_T5,
        **{"num_decoder_layers": 2, "num_experts": 4},
        **{"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    },
    "xlnet": {"vocab_size": 97, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40},
}
"""Families with modules that have no recomputation of their own."""


def heads() -> list[tuple[str, str]]:
    """Return every family with every task that it has a head for."""
    return [
        (family, task.name)
        for family in FAMILIES
        for task in TASKS
        if type(config_of(family)) in getattr(transformers, task.auto_class)._model_mapping
    ]


def small_model(family: str, task: str = "base", **changes: Any) -> LoadedModel:
    """Open the tiny model of a family without a file behind it."""
    values = {**(TINY.get(family) or WITHOUT_FORMULAS.get(family, {})), **changes}
    config = transformers.AutoConfig.for_model(family, **values)
    source = ModelSource("config", f"tiny-{family}", Path("config.json"), find_task(task))
    with torch.device("meta"):
        module = getattr(transformers, find_task(task).auto_class).from_config(config)
    info = SourceInfo("config", source.name, task, "none")
    architecture = inspect_module(module, info, config.to_dict())
    return LoadedModel(ModelSpec(source, architecture, config=config))


def run(model: LoadedModel, sentence: Sentence = SENTENCE, budget: float = 1e9) -> ActivationCache:
    """Run a sentence with random weights that are no longer those of the initialisation.

    What all modules took and gave comes back.

    A fresh layer norm or bias would hide a mistake: it multiplies by 1 and adds 0.
    """
    if model not in _shaken:
        _shaken.add(model)
        module = model.module(random_weights=True)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            for parameter in module.parameters():
                if parameter.requires_grad:
                    parameter.add_(0.1 * torch.randn_like(parameter))
    capture = ActivationCache(budget=budget)
    run_sentence(model, sentence, random_weights=True, cache=capture)
    return capture


def hook_count(module: torch.nn.Module) -> int:
    """Count the hooks and replaced forwards of a model; transformers leaves some of its own."""
    return sum(
        len(m._forward_hooks) + len(m._forward_pre_hooks) + ("forward" in vars(m))
        for m in module.modules()
    )


def change_output(module: torch.nn.Module, change: Callable[[Any], Any]) -> ExitStack:
    """Have a module return ``change`` of its output, until the stack is closed."""
    forward, stack = module.forward, ExitStack()
    before = vars(module).get("forward")

    @wraps(forward)
    def changed(*args: Any, **kwargs: Any) -> Any:
        return change(forward(*args, **kwargs))

    def restore() -> None:
        del vars(module)["forward"]
        if before is not None:
            vars(module)["forward"] = before

    vars(module)["forward"] = changed
    stack.callback(restore)
    return stack
