"""Replayed calls are those of the run, and no more modules are called than necessary.

``test_families`` in ``replay`` replays every module of every family.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.graph.module_calls import Arguments, as_plain, versions
from bertviewer.core.runs.activation_cache import ActivationCache, RecordedCall
from bertviewer.core.runs.module_replay import replay, replay_call
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.checks.small_models import SENTENCE, hook_count
from tests.core.replay.model_runs import Opened, assert_same_calls, known, opened, ran

LAYER = "encoder.layer.1"
ALBERT_GROUP = "encoder.albert_layer_groups.0"
ALBERT_LAYER = f"{ALBERT_GROUP}.albert_layers.0"


def called_by(it: Opened, act: Callable[[], Any]) -> list[tuple[str, int]]:
    """Do something; return the modules that it calls, and the number of calls around each."""
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

    for path, module in it.network.named_modules():
        handles.append(module.register_forward_pre_hook(enter(path)))
        handles.append(module.register_forward_hook(leave))
    act()
    for handle in handles:
        handle.remove()
    return called


def outermost_calls(it: Opened, *paths: str, cache: ActivationCache | None = None) -> list[str]:
    """Replay modules; return what is called, without what these call themselves."""
    called = called_by(it, lambda: replay(it.model, cache or it.cache, paths))
    return [path for path, depth in called if not depth]


def arguments_of(
    it: Opened,
    path: str,
    progress: Progress = no_progress,
    cache: ActivationCache | None = None,
    **which: int,
) -> RecordedCall:
    """Return the arguments of one call of a module; nothing is called after it has them."""

    def keep(arguments: Arguments) -> RecordedCall:
        args, kwargs = as_plain(arguments)
        return RecordedCall(args, kwargs, None, versions((args, kwargs)))

    return replay_call(it.model, cache or it.cache, path, keep, None, progress, **which)[0]


@pytest.mark.parametrize(
    ("task", "paths", "expected"),
    [
        ("base", [LAYER], [LAYER]),
        ("base", [f"{LAYER}.output.dense", f"{LAYER}.attention.self"], [LAYER]),
        (
            "base",
            ["embeddings.LayerNorm", "encoder.layer.0.output"],
            ["embeddings", "encoder.layer.0"],
        ),
        ("base", ["pooler.dense"], ["pooler"]),
        ("base", ["encoder.layer.0", "encoder"], [""]),
        ("base", [""], [""]),
        ("base", [], []),
        ("masked-lm", ["cls.predictions.decoder"], ["cls"]),
        ("sequence-classification", ["classifier"], ["classifier"]),
    ],
)
def test_only_the_layers_around_the_modules_are_called(
    task: str, paths: list[str], expected: list[str]
) -> None:
    assert outermost_calls(known("bert", task), *paths) == expected


def test_a_changed_argument_makes_it_run_the_whole_model() -> None:
    it = opened("bert")
    expected = it.everything.calls[f"{LAYER}.output"][0].output.clone()
    with torch.no_grad():
        it.cache.calls[LAYER][0].args[0].add_(1)
    found = replay(it.model, it.cache, [f"{LAYER}.output"])
    assert torch.equal(found.calls[f"{LAYER}.output"][0].output, expected)
    assert outermost_calls(it, f"{LAYER}.output") == [""]
    assert outermost_calls(it, "encoder.layer.0") == ["encoder.layer.0"]
    # A cache of all modules was not changed.
    whole = ran(it.model).everything
    for cache, start in ((it.cache, ""), (whole, LAYER)):
        path = f"{LAYER}.attention.self"
        called = called_by(it, partial(arguments_of, it, path, cache=cache))
        assert [place for place, depth in called if not depth] == [start]
        assert f"{LAYER}.output" not in [place for place, _ in called]


def test_a_layer_that_changes_its_argument_is_not_called_alone() -> None:
    it = opened("bert")

    def change(_module: nn.Module, args: tuple[Tensor, ...]) -> None:
        args[0].mul_(2)

    it.network.get_submodule(f"{LAYER}.attention").register_forward_pre_hook(change)
    it = ran(it.model)
    assert outermost_calls(it, LAYER) == [""]
    found = replay(it.model, it.cache, [f"{LAYER}.output"])
    assert_same_calls(found, it.everything, f"{LAYER}.output")


def test_a_layer_beyond_the_budget_is_found_by_the_whole_model() -> None:
    it = opened("albert", num_hidden_groups=2, num_hidden_layers=4)
    cache = ActivationCache("units", budget=it.cache.bytes - 1)
    run_sentence(it.model, SENTENCE, random_weights=True, cache=cache)
    (refused,) = cache.refused
    found = replay(it.model, cache, [refused])
    assert len(found.calls[refused]) == len(it.everything.calls[refused])
    assert outermost_calls(it, refused, cache=cache) == [""]


def test_replays_change_neither_the_cache_nor_each_other() -> None:
    it = opened("gpt2")
    size, calls = it.cache.bytes, {path: len(calls) for path, calls in it.cache.calls.items()}
    for _ in range(3):
        found = replay(it.model, it.cache, ["h.0.attn", "h.1"])
        assert_same_calls(found, it.everything, "h.0.attn")
        assert_same_calls(found, it.everything, "h.1")
    assert it.cache.bytes == size
    assert {path: len(calls) for path, calls in it.cache.calls.items()} == calls


def test_a_replay_has_a_budget() -> None:
    it = known("bert")
    paths = {LAYER, f"{LAYER}.attention.self"}
    found = replay(it.model, it.cache, paths, budget=100)
    assert (found.calls, found.refused) == ({}, paths)


def test_an_earlier_run_is_replayed_on_its_device() -> None:
    it = opened("bert")
    ran(it.model, Sentence("something else"))
    it.model.module(random_weights=True, device="cpu:0")  # another name to torch than "cpu"
    labels: list[str] = []
    found = replay(it.model, it.cache, [LAYER, ""], lambda *given: labels.append(given[2]))
    assert "Moving the weights" in labels
    for path in ("", LAYER):
        assert_same_calls(found, it.everything, path)


def test_a_cache_of_all_modules_is_replayed_too() -> None:
    it = known("bert")
    found = replay(it.model, it.everything, [LAYER])
    assert_same_calls(found, it.everything, LAYER)


@pytest.mark.parametrize(
    ("family", "layer"), [("llama", "transformer.layers.0"), ("mistral", "model.layers.0")]
)
def test_a_head_that_has_no_argument_for_a_cache_uses_none(family: str, layer: str) -> None:
    # A key/value cache would grow with every replay, and return other keys than in the run.
    it = opened(family, "question-answering")
    assert all(call.kwargs.get("past_key_values") is None for call in it.cache.calls[layer])
    for _ in range(2):
        for path in (found := replay(it.model, it.cache, [layer])).calls:
            assert_same_calls(found, it.everything, path)


@pytest.mark.parametrize("family", ["xlm", "flaubert"])
def test_layers_that_fill_a_cache_are_not_called_alone(family: str) -> None:
    # They create one in any case, and each call puts its keys into it.
    it = opened(family, vocab_size=97, emb_dim=24, n_layers=2, n_heads=3)
    for _ in range(2):
        found = replay(it.model, it.cache, ["attentions.1"])
        assert_same_calls(found, it.everything, "attentions.1")


def test_a_module_that_fails_when_it_is_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    it = opened("bert")

    def fail(*_args: object, **_kwargs: object) -> None:
        raise KeyError("once")

    monkeypatch.setattr(it.network.get_submodule(f"{LAYER}.attention"), "forward", fail)
    message = r"replayed: encoder.layer.1.attention \(BertAttention\): KeyError: 'once'"
    with pytest.raises(UserError, match=message):
        replay(it.model, it.cache, [LAYER])
    with pytest.raises(UserError, match=message):
        arguments_of(it, f"{LAYER}.output")


def test_one_call_of_a_shared_layer_is_repeated_up_to_the_module() -> None:
    it = opened("albert", num_hidden_layers=5)
    hooks = hook_count(it.network)
    look = partial(arguments_of, it, f"{ALBERT_LAYER}.ffn", number=3, count=5)
    called = [path for path, _ in called_by(it, look)]
    assert called[:3] == [ALBERT_GROUP, ALBERT_LAYER, f"{ALBERT_LAYER}.attention"]
    assert called.count(ALBERT_GROUP) == 1
    assert not any("ffn_output" in path for path in called)
    assert hook_count(it.network) == hooks


def test_a_call_that_the_run_does_not_have() -> None:
    with pytest.raises(LookupError, match="was not called that many times"):
        arguments_of(known("bert"), f"{LAYER}.output", number=1, count=2)
