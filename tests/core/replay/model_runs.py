"""Small models with seeded weights, run as in the window."""

from functools import cache
from typing import Any

import torch

from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.attention_modules import attention_paths
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from tests.core.checks.small_models import SENTENCE, run, small_model


class Opened(CachedRun, frozen=True, eq=False):
    """A small model and its run."""

    @property
    def network(self) -> Any:
        return self.model.module(random_weights=True)

    def plain(self, **more: Any) -> Any:
        """Call the model with the run's inputs."""
        with torch.no_grad():
            return self.network(**{**self.cache.inputs, **more})


def opened(
    family: str, task: str = "base", sentence: Sentence = SENTENCE, **changes: Any
) -> Opened:
    """Open a small model and run a sentence."""
    model = small_model(family, task, **changes)
    run(model, sentence)  # moves the weights away from those of the initialisation
    return ran(model, sentence)


def ran(model: LoadedModel, sentence: Sentence = SENTENCE) -> Opened:
    """Run a sentence as the window does."""
    kept = ActivationCache("units")
    return Opened(model, run_sentence(model, sentence, random_weights=True, cache=kept), kept)


@cache
def known(family: str, task: str = "base") -> Opened:
    """Return a model and its run for tests that leave both as they are."""
    return opened(family, task)


def every_map(it: Opened) -> list[AttentionMaps]:
    found = []
    for path in attention_paths(it.model.architecture):
        first = attention_of(it, path)
        found.append(first)
        found += [attention_of(it, path, call=call) for call in range(1, first.calls)]
    return found
