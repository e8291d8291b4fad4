"""Replaying one call finds its inputs, and calls no more than necessary."""

from functools import partial
from typing import Any

import pytest
import torch

from bertviewer.core.graph.module_calls import tensors_in
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.util.errors import Cancelled
from tests.core.checks.small_models import SENTENCE, hook_count, small_model
from tests.core.runs.replaying import calls_of, taken_by, watched

LAYER = "encoder.layer.1"


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bert", {}),
        ("gpt2", {"n_layer": 1}),
        ("t5", {}),
        ("bart", {"decoder_layers": 1}),
        ("albert", {"num_hidden_layers": 3}),
        ("albert", {"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}),
    ],
)
def test_what_a_module_took_in_each_of_its_calls(family: str, changes: dict[str, Any]) -> None:
    model = small_model(family, **changes)
    kept, everything = watched(model)
    for path, calls in everything.calls.items():
        for number, call in enumerate(calls):
            taken = taken_by(model, kept, path, number=number, count=len(calls))
            assert taken.output is None
            assert taken.is_intact
            ours, theirs = (list(tensors_in((c.args, c.kwargs))) for c in (taken, call))
            assert all(torch.equal(x, y) for x, y in zip(ours, theirs, strict=True)), (path, number)


def test_one_pass_of_a_shared_layer_is_called_and_no_further_than_the_module() -> None:
    model = small_model("albert", num_hidden_layers=5)
    kept, _ = watched(model)
    group = "encoder.albert_layer_groups.0"
    layer = f"{group}.albert_layers.0"
    hooks = hook_count(model.module(True))
    look = partial(taken_by, model, kept, f"{layer}.ffn", number=3, count=5)
    called = calls_of(model, look)
    paths = [path for path, _ in called]
    assert paths[:3] == [group, layer, f"{layer}.attention"]
    assert paths.count(group) == 1
    assert not any("ffn_output" in path for path in paths)
    assert hook_count(model.module(True)) == hooks


def test_what_was_taken_is_found_by_the_whole_model_where_a_layer_was_not_kept() -> None:
    model = small_model("bert")
    kept, _ = watched(model)
    with torch.no_grad():
        kept.calls[LAYER][0].args[0].add_(1)
    everything = ActivationCache()
    run_sentence(model, SENTENCE, random_weights=True, cache=everything)
    path = f"{LAYER}.attention.self"
    # What was changed since is made again from the start; what was kept whole gives its layer.
    for capture, start in ((kept, ""), (everything, LAYER)):
        called = calls_of(model, partial(taken_by, model, capture, path))
        assert [place for place, depth in called if not depth] == [start]
        assert f"{LAYER}.output" not in [place for place, _ in called]


def test_a_call_that_there_was_not() -> None:
    model = small_model("bert")
    kept, _ = watched(model)
    with pytest.raises(LookupError, match="was not called that many times"):
        taken_by(model, kept, f"{LAYER}.output", number=1, count=2)


def test_a_look_at_what_was_taken_that_is_cancelled_leaves_no_hooks() -> None:
    model = small_model("bert")
    kept, _ = watched(model)
    hooks = hook_count(model.module(True))

    def stop(done: int, total: int, label: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        taken_by(model, kept, f"{LAYER}.output", progress=stop)
    assert hook_count(model.module(True)) == hooks
