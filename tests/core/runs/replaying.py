"""Runs of small models with a complete recording, and the calls that a replay makes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from bertviewer.core.graph.module_calls import Arguments, as_plain, tensors_in, versions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache, RecordedCall
from bertviewer.core.runs.module_replay import replay_call
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.checks.small_models import SENTENCE


def watched(
    model: LoadedModel, sentence: Sentence = SENTENCE
) -> tuple[ActivationCache, ActivationCache]:
    """Run a sentence; return what the window keeps of it, and everything."""
    module = model.module(random_weights=True)
    kept, everything = ActivationCache("units"), ActivationCache()
    with everything.recording(dict(module.named_modules())):
        run_sentence(model, sentence, random_weights=True, cache=kept)
    return kept, everything


def assert_same(found: ActivationCache, everything: ActivationCache, path: str) -> None:
    again, calls = found.calls.get(path, []), everything.calls.get(path, [])
    assert len(again) == len(calls), path
    for ours, theirs in zip(again, calls, strict=True):
        for part in ("args", "kwargs", "output"):
            a, b = (list(tensors_in(getattr(call, part))) for call in (ours, theirs))
            assert [x.shape for x in a] == [x.shape for x in b], (path, part)
            assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True)), (path, part)


def calls_of(model: LoadedModel, act: Callable[[], Any]) -> list[tuple[str, int]]:
    """Do something; return what was called, and how many modules were around it."""
    called: list[tuple[str, int]] = []
    depth = 0
    handles = []

    def enter(path: str) -> Any:
        def hook(_module: nn.Module, _args: Any) -> None:
            nonlocal depth
            called.append((path, depth))
            depth += 1

        return hook

    def leave(_module: nn.Module, _args: Any, _output: Any) -> None:
        nonlocal depth
        depth -= 1

    for path, module in model.module(random_weights=True).named_modules():
        handles.append(module.register_forward_pre_hook(enter(path)))
        handles.append(module.register_forward_hook(leave))
    act()
    for handle in handles:
        handle.remove()
    return called


def taken_by(
    model: LoadedModel,
    kept: ActivationCache,
    path: str,
    progress: Progress = no_progress,
    **which: int,
) -> RecordedCall:
    """Return what a module took in one of its calls; nothing is called after that is seen."""

    def keep(taken: Arguments) -> RecordedCall:
        args, kwargs = as_plain(taken)
        return RecordedCall(args, kwargs, None, versions((args, kwargs)))

    return replay_call(model, kept, path, keep, None, progress, **which)[0]
