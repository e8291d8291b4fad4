"""Each module is compared with a reference instance, which computes in float64."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.checks.check import check_module, check_run, reference_of
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Unchecked
from bertviewer.core.schema.modules import ancestors
from tests.core.checks.crossing import Crosses, crosses
from tests.core.checks.small_models import (
    SENTENCE,
    change_output,
    hook_count,
    run,
    small_model,
)

Change = Callable[[Any], object]


def crosses_of(family: str, change: Change, **changes: Any) -> Crosses:
    model = small_model(family, **changes)
    change(model.module(random_weights=True))
    check = check_run(model, run(model))
    assert check.unchecked == ()
    return crosses(check)


def within(found: Crosses, path: str) -> Crosses:
    """Return the crosses, all of which are at a module and those around it."""
    assert {p for p, _ in found} <= {path, *ancestors(path)}
    return found


def unscaled(path: str, name: str = "scaling") -> Change:
    def change(model: Any) -> None:
        inner = model.get_submodule(path)
        assert getattr(inner, name) != 1
        setattr(inner, name, 1.0)

    return change


def with_epsilon(path: str, name: str, value: float) -> Change:
    return lambda model: setattr(model.get_submodule(path), name, value)


def with_activation(path: str, name: str, act: nn.Module) -> Change:
    return lambda model: setattr(model.get_submodule(path), name, act)


def fed_otherwise(path: str, change: Callable[[Tensor], Tensor]) -> Change:
    def hook(_module: nn.Module, args: Any) -> Any:
        return (change(args[0]), *args[1:])

    return lambda model: model.get_submodule(path).register_forward_pre_hook(hook)


def chosen_otherwise(path: str) -> Change:
    def change(output: Any) -> Any:
        return (*output[:-1], (output[-1] + 1) % 4)

    return lambda model: change_output(model.get_submodule(path), change)


def of_one_sentence_more(model: Any) -> None:
    """Let a layer forget its mask: every token looks at all."""
    inner = model.layers[1].self_attn
    forward = inner.forward
    inner.is_causal = False

    def other(hidden_states: Tensor, **more: Any) -> Any:
        length = hidden_states.shape[1]
        return forward(
            hidden_states=hidden_states, **{**more, "attention_mask": torch.zeros(1, 1, length, 1)}
        )

    inner.forward = other


def normalised_otherwise(model: Any) -> None:
    gate = model.layers[1].mlp.gate
    gate.norm_topk_prob = not gate.norm_topk_prob


@pytest.mark.parametrize(
    ("family", "change", "path", "step"),
    [
        ("mixtral", unscaled("layers.1.self_attn"), "layers.1.self_attn", "head 0"),
        (
            "layoutlm",
            unscaled("encoder.layer.1.attention.self"),
            "encoder.layer.1.attention.self",
            "output",
        ),
        ("xlnet", unscaled("layer.1.rel_attn", "scale"), "layer.1.rel_attn", "input of dropout"),
        (
            "convbert",
            with_epsilon("embeddings.LayerNorm", "eps", 1e-5),
            "embeddings.LayerNorm",
            "output",
        ),
        ("mamba", with_epsilon("norm_f", "variance_epsilon", 1e-6), "norm_f", "output"),
        ("gpt2", with_activation("h.1.mlp", "act", nn.GELU()), "h.1.mlp.act", "output"),
        (
            "mixtral",
            fed_otherwise("layers.1.self_attn.k_proj", lambda x: x.roll(1, 1)),
            "layers.1.self_attn",
            "input of k_proj",
        ),
        (
            "mixtral",
            fed_otherwise("layers.1.post_attention_layernorm", lambda x: 1.001 * x),
            "layers.1",
            "input of post_attention_layernorm",
        ),
        # A norm gives the same for a multiple of its input.
        ("gpt2", fed_otherwise("h.1.ln_1", lambda x: 1.001 * x), "h.1", "norm"),
        ("mixtral", of_one_sentence_more, "layers.1.self_attn", "head 3"),
        ("mixtral", chosen_otherwise("layers.1.mlp.gate"), "layers.1.mlp.gate", "output"),
        ("qwen3_moe", normalised_otherwise, "layers.1.mlp.gate", "output"),
        ("qwen3_moe", fed_otherwise("norm", lambda x: x + 1e-4), "", "input of norm"),
    ],
)
def test_a_fault_is_found_at_its_step(family: str, change: Change, path: str, step: str) -> None:
    found = crosses_of(family, change)
    assert (path, step) in within(found, path)


def test_a_mask_that_is_left_out_is_found() -> None:
    def change(model: Any) -> None:
        inner = model.encoder.layer[1].attention.self
        forward = inner.forward
        inner.forward = lambda x, *_args, **more: forward(x, **{**more, "attention_mask": None})

    model = small_model("layoutlm", attn_implementation="eager")
    change(model.module(random_weights=True))
    capture = ActivationCache()
    model.module(random_weights=True)
    run(model)
    ids = torch.tensor([[1, 5, 7, 9, 0, 0]])
    capture.inputs = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    module: Any = model.module(random_weights=True)
    with torch.no_grad(), capture.recording(dict(module.named_modules())):
        module(**capture.inputs)
    path = "encoder.layer.1.attention.self"
    assert (path, "output") in within(crosses(check_run(model, capture)), path)


@pytest.mark.parametrize("family", ["mixtral", "qwen3_moe"])
def test_tokens_of_one_expert_may_be_in_any_order(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(family)
    assert crosses(check_run(model, run(model))) == set()
    in_order = torch.sort

    def reversed_(values: Tensor) -> Any:
        # Sorts as well, equal ones the other way around.
        found = in_order(values.flip(0), stable=True)
        return found.values, len(values) - 1 - found.indices

    def reordered() -> ActivationCache:
        with monkeypatch.context() as patch:
            patch.setattr(torch, "sort", reversed_)
            return run(model)

    assert crosses(check_run(model, reordered())) == set()
    # Rows that are mixed up are found all the same, in the run and in the undoing of the order.
    path = "layers.0.mlp.experts"
    experts: Any = model.module(random_weights=True).get_submodule(path)
    with change_output(experts, lambda output: output.roll(1, 0)):
        assert (path, "output") in within(crosses(check_run(model, reordered())), path)
    with change_output(experts.act_fn, lambda output: output.flip(0)):
        assert (path, "output") in within(crosses(check := check_run(model, reordered())), path)
    # Its rows cannot be compared one by one.
    assert check.unchecked[0] == Unchecked(
        f"{path}.act_fn", "it was called with its rows in another order"
    )


def test_one_module_alone() -> None:
    model = small_model("mixtral")
    run(model)
    kept = ActivationCache("units")
    run_sentence(model, SENTENCE, cache=kept, random_weights=True)
    check = check_module(model, kept, "layers.1.mlp")
    assert [(step.path, step.step, step.ok) for step in check.steps] == [
        ("layers.1.mlp", "input of gate", True),
        ("layers.1.mlp", "input of experts", True),
        ("layers.1.mlp", "output", True),
    ]
    (alone,) = check_module(model, kept, "layers.1.mlp.experts.act_fn").steps[:1]
    assert (alone.path, alone.ok) == ("layers.1.mlp.experts.act_fn", True)


def test_what_is_drawn_at_random_cannot_be_proven() -> None:
    model = small_model("reformer")
    capture = run(model, Sentence("word " * 22))
    check = check_run(model, capture)
    assert crosses(check) == set()
    reasons = {left.path: left.reason for left in check.unchecked}
    assert reasons == {
        f"encoder.layers.{number}.attention.self_attention": (
            "it draws random numbers, which cannot be reproduced"
        )
        for number in (0, 1)
    }


def test_the_reference_has_the_models_tensors_and_leaves_it_as_it_was() -> None:
    model = small_model("rwkv")
    capture = run(model)
    module: Any = model.module(random_weights=True)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    hooks, state = hook_count(module), torch.random.get_rng_state()
    clean = reference_of(model, capture.inputs).module
    assert clean is not module
    same = dict(module.named_parameters())
    assert all(it.data_ptr() == same[name].data_ptr() for name, it in clean.named_parameters())
    # RWKV divides its weights, once, in its first call.
    assert crosses(check_run(model, capture)) == set()
    after = module.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert hook_count(module) == hooks
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_call_that_was_not_kept_is_a_part_of_what_is_around_it() -> None:
    model = small_model("xlnet")
    capture = run(model)
    for path in list(capture.calls):
        if path.startswith("layer.1.ff."):
            del capture.calls[path]
    steps = check_run(model, capture).at("layer.1.ff")
    assert [(step.step, step.ok) for step in steps] == [("output", True)]


def test_a_weight_that_changed_since_the_run_is_found_where_it_is() -> None:
    model = small_model("mixtral")
    capture = run(model)
    experts: Any = model.module(random_weights=True).get_submodule("layers.1.mlp.experts")
    with torch.no_grad():
        experts.down_proj[capture.calls["layers.1.mlp.experts"][0].args[1][0, 0]] += 0.01
    path = "layers.1.mlp.experts"
    assert (path, "output") in within(crosses(check_run(model, capture)), path)
