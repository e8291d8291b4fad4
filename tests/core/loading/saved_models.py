"""Small models of every family as files, opened whole or layer by layer."""

from pathlib import Path

import numpy as np
import torch
import transformers
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.loading.cached_models import ModelSpec
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.matching import match
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.sources.model_source import find_task
from tests.core.checks.small_models import small_model


def save(folder: Path, family: str, task: str = "base") -> None:
    """Write a small model whose norms and biases are no longer those of the initialisation."""
    module = small_model(family, task).module(random_weights=True)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    assert isinstance(module, transformers.PreTrainedModel)
    module.save_pretrained(folder)


def opened(folder: Path, family: str, task: str = "base", *, offload: bool) -> LoadedModel:
    """Open the model that was written, for a tokenizer that stands in."""
    plain = small_model(family, task)
    checkpoint = find_checkpoint(folder)
    assert checkpoint is not None
    auto = getattr(transformers, find_task(task).auto_class)
    with torch.device("meta"):
        keys = match(auto.from_config(plain.config), checkpoint)
    source = replace(plain.source, offload=offload)
    spec = ModelSpec(source, plain.architecture, load_report=keys, config=plain.config)
    return LoadedModel(spec, None, checkpoint)


def assert_equal_runs(ours: ActivationRun, whole: ActivationRun) -> None:
    """Compare all that a run has bit by bit, but for how long it took."""
    assert ours.modules == whole.modules
    assert ours.token_norms == whole.token_norms
    assert ours.state_paths == whole.state_paths
    assert ours.source == replace(whole.source, offloaded=True)
    assert len(ours.hidden_states) == len(whole.hidden_states)
    assert all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(ours.hidden_states, whole.hidden_states, strict=True)
    )
    assert ours.outputs.keys() == whole.outputs.keys()
    assert all(
        np.array_equal(ours.outputs[name], whole.outputs[name], equal_nan=True)
        for name in whole.outputs
    )
