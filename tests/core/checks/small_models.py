"""Small models of every family with weights from a seed, run so that they can be checked."""

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
from bertviewer.core.schema.check import Check
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import TASKS, ModelSource, find_task
from tests.core.formulas.formula_models import OTHERS, TINY, config_of

SENTENCE = Sentence("the cat sat on the mat", "and so on")
FAMILIES = tuple(TINY)
Crosses = set[tuple[str, str]]
"""The modules and names of failed steps."""

_perturbed: WeakSet[LoadedModel] = WeakSet()


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
    values = {**({**OTHERS, **TINY}.get(family, {})), **changes}
    config = transformers.AutoConfig.for_model(family, **values)
    source = ModelSource("config", f"tiny-{family}", Path("config.json"), find_task(task))
    with torch.device("meta"):
        module = getattr(transformers, find_task(task).auto_class).from_config(config)
    info = SourceInfo("config", source.name, task, "none")
    architecture = inspect_module(module, info, config.to_dict())
    return LoadedModel(ModelSpec(source, architecture, config=config))


def perturb(model: LoadedModel) -> None:
    """Add noise to the random weights, once.

    A freshly initialized layer norm or bias would hide errors: it multiplies by 1 or adds 0.
    """
    if model not in _perturbed:
        _perturbed.add(model)
        module = model.module(random_weights=True)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            for parameter in module.parameters():
                if parameter.requires_grad:
                    parameter.add_(0.1 * torch.randn_like(parameter))


def run(model: LoadedModel, sentence: Sentence = SENTENCE, budget: float = 1e9) -> ActivationCache:
    """Run a sentence with perturbed weights; return the inputs and outputs of all modules."""
    perturb(model)
    cache = ActivationCache(budget=budget)
    run_sentence(model, sentence, random_weights=True, cache=cache)
    return cache


def crosses(check: Check) -> Crosses:
    return {(step.path, step.step) for step in check.failed}


def hook_count(module: torch.nn.Module) -> int:
    """Count the hooks and replaced forwards of a model; transformers adds some itself."""
    return sum(
        len(m._forward_hooks) + len(m._forward_pre_hooks) + ("forward" in vars(m))
        for m in module.modules()
    )


def change_output(module: torch.nn.Module, change: Callable[[Any], Any]) -> ExitStack:
    """Replace a module's output by ``change`` of it, until the stack is closed."""
    forward, before, stack = module.forward, vars(module).get("forward"), ExitStack()

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
