"""The activation cache: references without copies, within a budget."""

from typing import Any

import pytest
import torch
from torch import nn

from bertviewer.core.checks.check import check_run
from bertviewer.core.graph.module_calls import tensors_in, versions
from bertviewer.core.runs.activation_cache import ActivationCache, RecordedCall
from bertviewer.core.schema.activation_run import Sentence
from tests.core.checks.small_models import change_output, run, small_model
from tests.core.replay.model_runs import known, opened


def test_tensors_are_not_copied() -> None:
    calls = known("bert").everything.calls
    (layer,), (after,) = calls["encoder.layer.0"], calls["encoder.layer.1"]
    assert after.args[0] is layer.output
    assert calls[""][0].output["hidden_states"][1] is layer.output


def test_the_scope_of_layers_has_their_arguments_only() -> None:
    it = known("bert")
    kept = it.cache
    assert list(kept.calls) == ["embeddings", "encoder.layer.0", "encoder.layer.1", "pooler"]
    assert all(call.output is None for calls in kept.calls.values() for call in calls)
    assert set(kept.inputs) >= {"input_ids", "attention_mask"}
    for path, (call,) in kept.calls.items():
        (whole,) = it.everything.calls[path]
        ours, theirs = (tensors_in((each.args, each.kwargs)) for each in (call, whole))
        assert all(a is b for a, b in zip(ours, theirs, strict=True)), path


@pytest.mark.parametrize(
    ("family", "layers", "matrices"),
    [
        ("bert", "num_hidden_layers", 0),
        ("gpt2", "n_layer", 0),
        ("mistral", "num_hidden_layers", 1),  # its mask
        ("deberta-v2", "num_hidden_layers", 4),  # relative positions in int64, and its mask
        ("t5", "num_layers", 3),  # biases of three heads in three attentions
    ],
)
def test_arguments_of_layers_are_hidden_states_and_masks(
    family: str, layers: str, matrices: int
) -> None:
    changes: dict[str, Any] = {layers: 8}
    it = opened(family, sentence=Sentence("word " * 25), **changes)
    state = it.run.hidden_states[0].nbytes
    assert len(it.run.hidden_states) == 9
    most = 10 * state + matrices * 4 * len(it.run.tokens) ** 2
    assert 8 * state < it.cache.bytes <= most
    assert it.everything.bytes > 5 * most


def test_bytes_count_every_storage_once() -> None:
    cache = ActivationCache()
    model = nn.Sequential(nn.Identity(), nn.Flatten(), nn.Identity())
    with torch.no_grad(), cache.recording(dict(model.named_modules())):
        model(torch.zeros(4, 5, 5))
    assert len(cache.calls) == 4
    assert cache.bytes == 4 * 25 * 4


def test_a_budget_is_for_all_calls_together() -> None:
    it = known("bert")
    whole = it.everything.bytes
    cache = run(it.model, budget=whole / 2)
    assert whole / 4 < cache.bytes <= whole / 2
    assert cache.refused
    check = check_run(it.model, cache)
    assert check.steps
    assert check.failed == ()
    (reason,) = {one.reason for one in check.unchecked if one.path in cache.refused}
    assert "the sentence is too long" in reason


def test_tensors_that_are_changed_in_place() -> None:
    model = small_model("bert")
    intermediate: Any = model.module(True).get_submodule("encoder.layer.0.intermediate")
    intermediate.intermediate_act_fn.forward = lambda x: x.mul_(x.sigmoid())
    cache = run(model)
    path = "encoder.layer.0.intermediate"
    # The output of the module before can be computed again; the input of the one after is lost.
    check = check_run(model, cache)
    assert all(step.ok for step in check.at(f"{path}.dense"))
    (left,) = check.unchecked
    assert left.path == f"{path}.intermediate_act_fn"
    assert "inputs was modified in place" in left.reason
    with change_output(intermediate.dense, lambda output: output + 0.1):
        check = check_run(model, cache)
    assert not all(step.ok for step in check.at(f"{path}.dense"))


def test_calls_on_another_device_are_copied_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu = known("bert").everything
    assert on_cpu.on_cpu() is on_cpu
    cache = ActivationCache()
    for path in ("intact", "changed"):
        tensor = torch.ones(2, device="meta")
        cache.add(path, RecordedCall((tensor,), {}, tensor, versions((tensor, tensor))))
    cache.calls["changed"][0].args[0].add_(1)
    # The device "meta" represents an accelerator, and has no values to copy.
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: torch.ones(tensor.shape))
    copy = cache.on_cpu()
    assert all(copy.calls[path][0].args[0].is_cpu for path in cache.calls)
    assert [copy.calls[path][0].is_intact for path in ("intact", "changed")] == [True, False]
