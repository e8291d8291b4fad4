"""Small models of any family in files, opened in memory or layer by layer."""

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
    """Save a small model whose norms and biases differ from their initialization."""
    module = small_model(family, task).module(random_weights=True)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    assert isinstance(module, transformers.PreTrainedModel)
    module.save_pretrained(folder)


def opened(folder: Path, family: str, task: str = "base", *, offload: bool) -> LoadedModel:
    """Open a saved model with a placeholder tokenizer."""
    plain = small_model(family, task)
    checkpoint = find_checkpoint(folder)
    assert checkpoint is not None
    auto = getattr(transformers, find_task(task).auto_class)
    with torch.device("meta"):
        report = match(auto.from_config(plain.config), checkpoint)
    source = replace(plain.source, offload=offload)
    spec = ModelSpec(source, plain.architecture, load_report=report, config=plain.config)
    return LoadedModel(spec, None, checkpoint)


def assert_equal_runs(offloaded: ActivationRun, in_memory: ActivationRun) -> None:
    """Compare all of a run but its duration, bit by bit."""
    assert offloaded.modules == in_memory.modules
    assert offloaded.token_norms == in_memory.token_norms
    assert offloaded.state_paths == in_memory.state_paths
    assert offloaded.source == replace(in_memory.source, offloaded=True)
    for states, expected in zip(offloaded.hidden_states, in_memory.hidden_states, strict=True):
        assert np.array_equal(states, expected, equal_nan=True)
    assert offloaded.outputs.keys() == in_memory.outputs.keys()
    for name, output in in_memory.outputs.items():
        assert np.array_equal(offloaded.outputs[name], output, equal_nan=True)
