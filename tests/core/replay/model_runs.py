"""Small models with seeded weights, run as in the window."""

from functools import cache
from typing import Any

import torch
from msgspec import Struct

from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.attention_modules import attention_paths
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from tests.core.checks.small_models import SENTENCE, run, small_model


class Opened(Struct, frozen=True):
    """A model, a run of it, and what was kept of that."""

    model: LoadedModel
    run: ActivationRun
    kept: ActivationCache

    @property
    def module(self) -> Any:
        return self.model.module(random_weights=True)

    def plain(self, **more: Any) -> Any:
        """Call the model plainly with what the run gave it."""
        with torch.no_grad():
            return self.module(**{**self.kept.inputs, **more})


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
        first = attention_of(it.model, it.run, it.kept, path)
        found.append(first)
        found += [
            attention_of(it.model, it.run, it.kept, path, call=call)
            for call in range(1, first.calls)
        ]
    return found
