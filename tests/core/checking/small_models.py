"""Small models of every family with weights from a seed, opened and run for a check."""

from pathlib import Path
from typing import Any

import torch
import transformers

from bertviewer.core.inspection import inspect_module
from bertviewer.core.loaded_model import LoadedModel
from bertviewer.core.run.activation_run import Sentence
from bertviewer.core.run.capture import Capture
from bertviewer.core.run.running import run_sentence
from bertviewer.core.source import ModelSource
from bertviewer.core.source_info import SourceInfo
from bertviewer.core.tasks import TASKS, find_task
from tests.core.formulas.formula_models import TINY, config_of

SENTENCE = Sentence("the cat sat on the mat", "and so on")
FAMILIES = tuple(TINY)


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
    values = {**TINY[family], **changes}
    config = transformers.AutoConfig.for_model(family, **values)
    source = ModelSource("config", f"tiny-{family}", Path("config.json"), find_task(task))
    with torch.device("meta"):
        module = getattr(transformers, find_task(task).auto_class).from_config(config)
    info = SourceInfo("config", source.name, task, "none")
    return LoadedModel(source, config, inspect_module(module, info, config.to_dict()))


def run(model: LoadedModel, sentence: Sentence = SENTENCE, budget: float = 1e9) -> Capture:
    """Run a sentence with random weights that are no longer those of the initialisation.

    What all modules took and gave comes back.

    A fresh layer norm or bias would hide a mistake: it multiplies by 1 and adds 0.
    """
    if model._module is None:
        module = model.module(random_weights=True)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            for parameter in module.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    capture = Capture(budget=budget)
    run_sentence(model, sentence, random_weights=True, capture=capture)
    return capture


def hook_count(module: torch.nn.Module) -> int:
    """Count the hooks on a model; transformers puts some of its own on it and leaves them."""
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())
