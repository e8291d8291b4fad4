"""Small models with seeded weights, run as in the window, with all calls of all modules."""

from functools import cache
from typing import Any

import torch
from msgspec import field

from bertviewer.core.analysis.attention_maps import AttentionMaps
from bertviewer.core.analysis.attention_modules import attention_paths
from bertviewer.core.graph.module_calls import tensors_in
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from tests.core.checks.small_models import SENTENCE, perturb, small_model


class Opened(CachedRun, frozen=True, eq=False):
    """A small model and its run, which keeps the inputs of layers, as in the window.

    Attributes:
        everything: the inputs and outputs of all modules in the same forward pass.
    """

    everything: ActivationCache = field(default_factory=ActivationCache)

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
    perturb(model)
    return ran(model, sentence)


def ran(model: LoadedModel, sentence: Sentence = SENTENCE) -> Opened:
    """Run a sentence."""
    module = model.module(random_weights=True)
    kept, everything = ActivationCache("units"), ActivationCache()
    with everything.recording(dict(module.named_modules())):
        run = run_sentence(model, sentence, random_weights=True, cache=kept)
    everything.inputs = kept.inputs
    return Opened(model, run, kept, everything)


@cache
def known(family: str, task: str = "base") -> Opened:
    """Return a model and its run, shared by all tests, which leave both unchanged."""
    return opened(family, task)


def every_map(it: Opened) -> list[AttentionMaps]:
    """Return the attention of every call of every attention module."""
    found = []
    for path in attention_paths(it.model.architecture):
        first = attention_of(it, path)
        found.append(first)
        found += [attention_of(it, path, call=call) for call in range(1, first.calls)]
    return found


def assert_same_calls(found: ActivationCache, wanted: ActivationCache, path: str) -> None:
    """Compare the recorded calls of a module bit by bit."""
    again, calls = found.calls.get(path, []), wanted.calls.get(path, [])
    assert len(again) == len(calls), path
    for one, other in zip(again, calls, strict=True):
        for part in ("args", "kwargs", "output"):
            a, b = (list(tensors_in(getattr(call, part))) for call in (one, other))
            assert [x.shape for x in a] == [x.shape for x in b], (path, part)
            assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True)), (path, part)
