"""The activation cache: references without copies, within a budget."""

import gc
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.checks.check import check_run
from bertviewer.core.graph.module_calls import tensors_in, versions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache, RecordedCall
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import Cancelled
from tests.core.checks.small_models import SENTENCE, change_output, hook_count, run, small_model


def of_units(model: LoadedModel, sentence: Sentence = SENTENCE) -> ActivationCache:
    capture = ActivationCache("units")
    run_sentence(model, sentence, random_weights=True, cache=capture)
    return capture


def test_a_run_keeps_nothing_unless_it_is_asked_to() -> None:
    model = small_model("bert")
    seen: list[weakref.ref[Tensor]] = []

    def look(_module: nn.Module, _args: Any, output: Tensor) -> None:
        seen.append(weakref.ref(output))

    layer: Any = model.module(True).get_submodule("encoder.layer.0.intermediate")
    handle = layer.register_forward_hook(look)
    run_sentence(model, SENTENCE, random_weights=True)
    gc.collect()
    assert seen[0]() is None
    kept = ActivationCache()
    run_sentence(model, SENTENCE, random_weights=True, cache=kept)
    handle.remove()
    assert seen[1]() is not None


def test_tensors_are_not_copied() -> None:
    calls = run(small_model("bert")).calls
    (layer,), (after,) = calls["encoder.layer.0"], calls["encoder.layer.1"]
    assert after.args[0] is layer.output
    assert calls[""][0].output["hidden_states"][1] is layer.output


def test_units_keep_arguments_and_nothing_else() -> None:
    model = small_model("bert")
    full = run(model)
    kept = of_units(model)
    assert list(kept.calls) == ["embeddings", "encoder.layer.0", "encoder.layer.1", "pooler"]
    assert all(call.output is None for calls in kept.calls.values() for call in calls)
    assert set(kept.inputs) >= {"input_ids", "attention_mask"}
    for path, calls in kept.calls.items():
        theirs = tensors_in((full.calls[path][0].args, full.calls[path][0].kwargs))
        ours = tensors_in((calls[0].args, calls[0].kwargs))
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)), path


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
def test_units_keep_no_more_than_hidden_states_and_masks(
    family: str, layers: str, matrices: int
) -> None:
    deep: dict[str, Any] = {layers: 8}
    model = small_model(family, **deep)
    long = Sentence("word " * 25)
    kept = of_units(model, long)
    done = run_sentence(model, long, random_weights=True)
    size = done.hidden_states[0].nbytes
    assert len(done.hidden_states) == 9
    bound = 10 * size + matrices * 4 * len(done.tokens) ** 2
    assert 8 * size < kept.bytes <= bound
    assert run(model, long).bytes > 5 * bound
    # Another run has a capture of its own.
    before = kept.bytes
    assert of_units(model, long).bytes == before
    assert kept.bytes == before


def test_bytes_count_every_storage_once() -> None:
    capture = ActivationCache()
    model = nn.Sequential(nn.Identity(), nn.Flatten(), nn.Identity())
    with torch.no_grad(), capture.recording(dict(model.named_modules())):
        model(torch.zeros(4, 5, 5))
    assert len(capture.calls) == 4
    assert capture.bytes == 4 * 25 * 4


def test_a_small_budget_is_told() -> None:
    model = small_model("bert")
    whole = run(model).bytes
    capture = run(model, budget=whole / 2)
    assert 0 < capture.bytes <= whole / 2
    assert capture.refused
    check = check_run(model, capture)
    assert check.steps
    assert check.failed == ()
    reasons = {left.reason for left in check.unchecked if left.path in capture.refused}
    assert len(reasons) == 1
    assert "the sentence is too long" in reasons.pop()


def test_a_capture_that_is_dropped_frees_what_it_kept() -> None:
    model = small_model("bert")
    kept = of_units(model)
    state = weakref.ref(kept.calls["encoder.layer.1"][0].args[0])
    assert state() is not None
    del kept
    gc.collect()
    assert state() is None


def test_a_run_that_is_cancelled_leaves_other_captures_and_no_hooks() -> None:
    model = small_model("bert")
    before = run(model)
    size = before.bytes
    hooks = hook_count(model.module(True))

    def stop(done: int, total: int, label: str) -> None:
        if label == "encoder.layer.1":
            raise Cancelled

    with pytest.raises(Cancelled):
        run_sentence(
            model, Sentence("other"), stop, random_weights=True, cache=ActivationCache("units")
        )
    assert before.bytes == size
    assert hook_count(model.module(True)) == hooks
    assert check_run(model, before).failed == ()


def test_a_check_that_is_cancelled_leaves_the_model_as_it_was() -> None:
    model = small_model("bert")
    capture = run(model)
    module: Any = model.module(True)
    hooks = hook_count(module)

    def stop(done: int, total: int, label: str) -> None:
        # The attention is run a second time.
        if module.config._attn_implementation == "eager" and label.endswith("attention.self"):
            raise Cancelled

    with pytest.raises(Cancelled):
        check_run(model, capture, progress=stop)
    assert module.config._attn_implementation == "sdpa"
    assert hook_count(module) == hooks


def test_what_is_changed_in_place_is_called_again_or_told() -> None:
    model = small_model("bert")
    run(model)
    dense: Any = model.module(True).get_submodule("encoder.layer.0.intermediate.dense")
    activation: Any = model.module(True).get_submodule("encoder.layer.0.intermediate")
    activation.intermediate_act_fn.forward = lambda x: x.mul_(x.sigmoid())
    capture = run(model)
    check = check_run(model, capture)
    # What returned the tensor can be called again; what changed it has no inputs to be called with.
    assert all(step.ok for step in check.at("encoder.layer.0.intermediate.dense"))
    reasons = {left.path: left.reason for left in check.unchecked}
    (path,) = reasons
    assert path == "encoder.layer.0.intermediate.intermediate_act_fn"
    assert "inputs was modified in place" in reasons[path]
    with change_output(dense, lambda output: output + 0.1):
        check = check_run(model, capture)
    assert not all(step.ok for step in check.at("encoder.layer.0.intermediate.dense"))


def test_calls_on_the_cpu_stay_where_they_are() -> None:
    capture = run(small_model("bert"))
    assert capture.on_cpu() is capture


def test_calls_elsewhere_are_copied_and_what_was_changed_in_place_stays_known() -> None:
    capture = ActivationCache()
    for path, offset in (("a", 0), ("b", 1)):
        tensor = torch.ones(2, device="meta")
        noted = versions((tensor, tensor))
        capture.add(path, RecordedCall((tensor,), {}, tensor, noted))
        if offset:
            tensor.add_(1)
    with pytest.MonkeyPatch.context() as patch:
        # A tensor without values cannot be brought anywhere; its place is all that matters here.
        patch.setattr(torch.Tensor, "cpu", lambda tensor: torch.ones(tensor.shape))
        copy = capture.on_cpu()
    assert copy is not capture
    assert [copy.calls[path][0].args[0].is_cpu for path in "ab"] == [True, True]
    assert [copy.calls[path][0].is_intact for path in "ab"] == [True, False]
