"""A fault in a model is found at its module and step, and nowhere else but in what contains it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, reduce, wraps
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bertviewer.core.checks.check import check_run
from bertviewer.core.checks.layer_steps import NEXT
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Unchecked
from bertviewer.core.schema.modules import ancestors
from bertviewer.core.sources.model_source import ModelSource
from tests.core.checks.small_models import Crosses, change_output, crosses, run, small_model

SIZES: dict[str, Any] = {
    **{"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"intermediate_size": 40, "max_position_embeddings": 64},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
}
FAMILIES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("falcon", "granite", "olmo2"), SIZES),
    "bloom": {"vocab_size": 97, "hidden_size": 32, "n_layer": 2, "n_head": 4},
    "gemma2": {**SIZES, "num_key_value_heads": 2, "head_dim": 8, "attn_implementation": "eager"},
    "opt": {**SIZES, "ffn_dim": 40, "word_embed_proj_dim": 32},
}
"""Configurations of families that are not in ``small_models``."""

Fault = Callable[[Any], AbstractContextManager[Any]]
"""Puts a fault into a module until the context ends."""


@cache
def correct_model(family: str) -> LoadedModel:
    model = small_model(family, **FAMILIES.get(family, {}))
    assert crosses(check_run(model, run(model))) == set()
    return model


def attribute(name: str, value: Any) -> Fault:
    return replaced(name, lambda _: value)


def replaced(name: str, change: Callable[[Any], Any]) -> Fault:
    """Replace an attribute, or that of a member for a name with dots."""
    *owners, last = name.split(".")

    @contextmanager
    def fault(module: Any) -> Iterator[None]:
        owner = reduce(getattr, owners, module)
        before = getattr(owner, last)
        setattr(owner, last, change(before))
        yield
        setattr(owner, last, before)

    return fault


def forward(change: Callable[..., Any], child: str = "") -> Fault:
    """Replace a forward by ``change(module, its forward, *arguments)``."""

    @contextmanager
    def fault(module: Any) -> Iterator[None]:
        inner = module.get_submodule(child)
        before = inner.forward

        @wraps(before)
        def changed(*args: Any, **kwargs: Any) -> Any:
            return change(inner, before, *args, **kwargs)

        inner.forward = changed
        yield
        del inner.forward

    return fault


def output(change: Callable[[Any], Any]) -> Fault:
    return lambda module: change_output(module, change)


def inputs(child: str, change: Callable[[Tensor], Tensor]) -> Fault:
    def hook(_module: nn.Module, args: Any) -> Any:
        return (change(args[0]), *args[1:])

    return lambda module: module.get_submodule(child).register_forward_pre_hook(hook)


def transposed(module: nn.Linear, _forward: Any, x: Tensor) -> Tensor:
    return nn.functional.linear(x, module.weight.mT, module.bias)


def without_residual(_module: nn.Module, usual: Any, *args: Any, **kwargs: Any) -> Any:
    given, result = (*args, *kwargs.values())[0], usual(*args, **kwargs)
    return (result[0] - given, *result[1:]) if isinstance(result, tuple) else result - given


def without_mask(_module: nn.Module, usual: Any, *args: Any, **kwargs: Any) -> Any:
    length = (*args, *kwargs.values())[0].shape[1]
    return usual(*args, **{**kwargs, "attention_mask": torch.zeros(1, 1, length, 1)})


def shifted_mask(_module: nn.Module, usual: Any, *args: Any, **kwargs: Any) -> Any:
    return usual(*args, **{**kwargs, "attention_mask": kwargs["attention_mask"].roll(1, -1)})


def norm_over_positions(_norm: nn.Module, _usual: Any, x: Tensor) -> Tensor:
    return nn.functional.layer_norm(x, x.shape[-1:])


def fixed_blocks(**given: Any) -> Any:
    blocks = given["from_seq_length"] // given["from_block_size"] - 2
    return [np.full((blocks, 1), 3, dtype=np.int32)] * given["num_heads"]


def rolled_result(result: Any) -> Any:
    return (result[0].roll(8, -1), *result[1:])


def flipped(function: Any) -> Any:
    return lambda *args, **kwargs: function(*args, **kwargs).flip(0)


def rolled(function: Any) -> Any:
    return lambda x: function(x).roll(1, 1)


def other_expert(result: Any) -> Any:
    return (*result[:-1], (result[-1] + 1) % 4)


BERT_SELF = "encoder.layer.1.attention.self"
T5_CROSS = "decoder.block.1.layer.1.EncDecAttention"
LLAMA_SELF = "layers.1.self_attn"
FAULTS: list[tuple[str, str, str, Fault]] = [
    ("bert", "encoder.layer.1.output.LayerNorm", "output", attribute("eps", 0.05)),
    ("bert", BERT_SELF, "head 0", attribute("scaling", 1.0)),
    ("bert", BERT_SELF, "head 0", output(rolled_result)),
    ("bert", f"{BERT_SELF}.query", "output", forward(transposed)),
    ("bert", "encoder.layer.1", NEXT, forward(without_residual)),
    ("bert", "encoder.layer.1.output.dropout", "output", output(lambda y: y * 0.9)),
    ("bert", "pooler.activation", "output", output(lambda y: y.clamp(-0.1, 0.1))),
    ("gpt2", "h.1.ln_2", "output", attribute("eps", 0.05)),
    ("gpt2", "h.1.mlp.act", "output", forward(lambda _, usual, x: nn.functional.gelu(x))),
    ("gpt2", "h.1.attn", "head 0", attribute("scaling", 1.0)),
    ("gpt2", "h.1.attn", "head 0", inputs("c_proj", lambda x: x.roll(8, -1))),
    ("gpt2", "h.1", NEXT, forward(without_residual)),
    # A norm has the same output for a multiple of its input.
    ("gpt2", "h.1", "norm", inputs("ln_1", lambda x: 1.001 * x)),
    ("t5", "encoder.block.1.layer.0.layer_norm", "output", attribute("variance_epsilon", 0.05)),
    ("t5", T5_CROSS, "head 0", inputs("o", lambda x: x.roll(6, -1))),
    ("llama", LLAMA_SELF, "head 0", inputs("o_proj", lambda x: x.roll(6, -1))),
    ("llama", f"{LLAMA_SELF}.q_proj", "output", forward(transposed)),
    ("llama", "layers.1", NEXT, forward(without_residual)),
    ("mixtral", LLAMA_SELF, "head 0", attribute("scaling", 1.0)),
    ("mixtral", LLAMA_SELF, "head 3", forward(without_mask)),
    ("mixtral", LLAMA_SELF, "input of k_proj", inputs("k_proj", lambda x: x.roll(1, 1))),
    (
        *("mixtral", "layers.1", "input of post_attention_layernorm"),
        inputs("post_attention_layernorm", lambda x: 1.001 * x),
    ),
    ("mixtral", "layers.1.mlp.gate", "output", output(other_expert)),
    ("qwen3_moe", "layers.1.mlp.gate", "output", replaced("norm_topk_prob", lambda it: not it)),
    ("qwen3_moe", "", "input of norm", inputs("norm", lambda x: x + 1e-4)),
    ("gemma2", LLAMA_SELF, "head 1", forward(shifted_mask)),
    ("gemma2", LLAMA_SELF, "head 2", attribute("attn_logit_softcapping", 0.5)),
    ("mistral", "", "input of layers.0", attribute("config.sliding_window", 3)),
    ("roberta", "embeddings", "input of position_embeddings", attribute("padding_idx", 3)),
    ("layoutlm", BERT_SELF, "output", attribute("scaling", 1.0)),
    ("deberta", BERT_SELF, "output", attribute("pos_att_type", ["c2p"])),
    ("roformer", BERT_SELF, "output", attribute("rotary_value", True)),
    (
        *("big_bird", BERT_SELF, "output"),
        attribute("_bigbird_block_rand_mask_with_head", fixed_blocks),
    ),
    ("esm", "embeddings", "output", attribute("token_dropout", False)),
    (
        *("squeezebert", "encoder.layers.1.output.layernorm", "output"),
        forward(norm_over_positions),
    ),
    ("convbert", "embeddings.LayerNorm", "output", attribute("eps", 1e-5)),
    ("fnet", "encoder.layer.1.fourier.self", "output", replaced("fourier_transform", rolled)),
    ("mamba", "norm_f", "output", attribute("variance_epsilon", 1e-6)),
    ("xlnet", "layer.1.rel_attn", "input of dropout", attribute("scale", 1.0)),
    ("bloom", "", "input of h.1", replaced("build_alibi_tensor", flipped)),
    # Attention and network are parallel, without steps.
    ("falcon", "h.1", "output", forward(without_residual)),
    ("granite", "layers.0", NEXT, attribute("residual_multiplier", 1.5)),
    ("olmo2", "rotary_emb", "output", attribute("attention_scaling", 1.5)),
    ("opt", "decoder.layers.1", NEXT, forward(without_residual)),
]


def within(found: Crosses, path: str) -> Crosses:
    """Return the crosses, after checking that all are at a module or those that contain it."""
    assert {place for place, _ in found} <= {path, *ancestors(path)}
    return found


@pytest.mark.parametrize(
    ("family", "path", "step", "fault"),
    FAULTS,
    ids=[f"{family}-{path}-{step}" for family, path, step, _ in FAULTS],
)
def test_a_fault_is_found_at_its_step(family: str, path: str, step: str, fault: Fault) -> None:
    model = correct_model(family)
    with fault(model.module(random_weights=True).get_submodule(path)):
        found = crosses(check_run(model, run(model)))
    assert (path, step) in within(found, path)


def test_swapped_projections_are_found_at_both() -> None:
    model = correct_model("bert")
    attention: Any = model.module(random_weights=True).get_submodule(BERT_SELF)
    query, key = attention.query, attention.key
    query.forward, key.forward = key.forward, query.forward
    found = crosses(check_run(model, run(model)))
    del query.forward, key.forward
    both = (f"{BERT_SELF}.query", f"{BERT_SELF}.key")
    assert {(path, "output") for path in both} <= found
    assert {path for path, _ in found} <= {*both, *ancestors(BERT_SELF)}


def test_a_padding_mask_that_is_ignored_is_found() -> None:
    model = small_model("layoutlm", attn_implementation="eager")
    run(model)
    module: Any = model.module(random_weights=True)
    inner = module.encoder.layer[1].attention.self
    usual = inner.forward
    inner.forward = lambda x, *_args, **more: usual(x, **{**more, "attention_mask": None})
    cache, ids = ActivationCache(), torch.tensor([[1, 5, 7, 9, 0, 0]])
    cache.inputs = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    with torch.no_grad(), cache.recording(dict(module.named_modules())):
        module(**cache.inputs)
    assert (BERT_SELF, "output") in within(crosses(check_run(model, cache)), BERT_SELF)


@pytest.fixture(scope="module")
def demo(demo_source: ModelSource) -> LoadedModel:
    return open_model(demo_source)


@pytest.fixture(scope="module")
def demo_run(demo: LoadedModel) -> ActivationCache:
    cache = ActivationCache()
    run_sentence(demo, Sentence("this is a 12212121 test sentence"), cache=cache)
    return cache


@contextmanager
def changed(tensor: Tensor, place: tuple[int, ...], by: float) -> Iterator[None]:
    before = tensor.detach().clone()
    with torch.no_grad():
        tensor[place] += by
        yield
        tensor.copy_(before)


def test_a_pretrained_model_has_no_crosses(demo: LoadedModel, demo_run: ActivationCache) -> None:
    check = check_run(demo, demo_run)
    assert crosses(check) == set()
    assert check.unchecked == ()
    assert len(check.steps) == 238
    for step in check.steps:
        assert step.max_abs_error is not None
        assert step.max_abs_error <= step.tolerance < 1e-3
        assert step.max_abs_error < step.tolerance or step.max_abs_error == 0


LAYER = "encoder.layer.2"
CHANGES: dict[str, tuple[tuple[int, int], Crosses]] = {
    "intermediate.dense": (
        (5, 7),
        {
            (f"{LAYER}.intermediate.dense", "output"),
            (f"{LAYER}.intermediate", "output"),
            (LAYER, "intermediate"),
        },
    ),
    "attention.self.query": (
        (70, 3),  # each head has 32 rows: this one is in head 2
        {
            (f"{LAYER}.attention.self.query", "output"),
            (f"{LAYER}.attention.self", "output"),
            (f"{LAYER}.attention.self", "head 2"),
            (f"{LAYER}.attention", "output"),
            (LAYER, "self-attention"),
        },
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_weight_that_changed_after_the_run(
    demo: LoadedModel, demo_run: ActivationCache, name: str
) -> None:
    place, expected = CHANGES[name]
    with changed(demo.module(False).get_parameter(f"{LAYER}.{name}.weight"), place, 0.5):
        found = crosses(check_run(demo, demo_run))
    assert found == expected | {(LAYER, NEXT), ("encoder", "output"), ("", "output")}


def test_a_weight_of_one_expert_that_changed_after_the_run() -> None:
    model, path = correct_model("mixtral"), "layers.1.mlp.experts"
    cache = run(model)
    experts: Any = model.module(random_weights=True).get_submodule(path)
    with changed(experts.down_proj, (int(cache.calls[path][0].args[1][0, 0]),), 0.01):
        assert (path, "output") in within(crosses(check_run(model, cache)), path)


@pytest.mark.parametrize("family", ["mixtral", "qwen3_moe"])
def test_tokens_of_one_expert_may_be_in_any_order(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sort = correct_model(family), torch.sort

    def reversed_sort(values: Tensor) -> Any:
        """Sort, with equal values in reversed order."""
        found = sort(values.flip(0), stable=True)
        return found.values, len(values) - 1 - found.indices

    def reordered() -> ActivationCache:
        with monkeypatch.context() as patch:
            patch.setattr(torch, "sort", reversed_sort)
            return run(model)

    assert crosses(check_run(model, reordered())) == set()
    # Rows that are exchanged afterwards are found nevertheless.
    path = "layers.0.mlp.experts"
    experts: Any = model.module(random_weights=True).get_submodule(path)
    with change_output(experts, lambda result: result.roll(1, 0)):
        assert (path, "output") in within(crosses(check_run(model, reordered())), path)
    with change_output(experts.act_fn, lambda result: result.flip(0)):
        assert (path, "output") in within(crosses(check := check_run(model, reordered())), path)
    assert check.unchecked[0] == Unchecked(
        f"{path}.act_fn", "it was called with its rows in another order"
    )
