"""Every module of every family computes what the reference instance computes."""

import re
from itertools import product
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bertviewer.core.checks.check import check_run
from bertviewer.core.checks.layer_steps import NEXT
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Check
from tests.core.checks.small_models import (
    SENTENCE,
    WITHOUT_FORMULAS,
    hook_count,
    run,
    small_model,
)
from tests.core.formulas.formula_models import MODELS


def told(check: Check) -> list[str]:
    return [f"{step.path}: {step.step}: {step.max_abs_error}" for step in check.failed]


def check_ticks(model: LoadedModel, sentence: Sentence = SENTENCE) -> Check:
    """Check that every module that was called computes what its reference does."""
    capture = run(model, sentence)
    check = check_run(model, capture)
    assert told(check) == []
    assert check.unchecked == ()
    assert {step.path for step in check.steps} == set(capture.calls)
    return check


@pytest.mark.parametrize("name", [*MODELS, *(it for it in WITHOUT_FORMULAS if it != "reformer")])
def test_everything_ticks(name: str) -> None:
    check = check_ticks(small_model(*name.split()))
    assert {step.proof for step in check.steps} >= {"reference"}


HALVES = (torch.bfloat16, torch.float16)


@pytest.mark.parametrize(
    ("family", "dtype"),
    [
        *product(("bert", "t5", "llama", "deberta", "esm", "xlnet", "mamba"), HALVES),
        *product(("gpt2", "bart", "squeezebert"), (torch.bfloat16, torch.float64)),
    ],
)
def test_every_dtype_ticks(family: str, dtype: torch.dtype) -> None:
    model = small_model(family)
    model.module(random_weights=True).to(dtype)
    check = check_ticks(model)
    # The tolerance follows the dtype; norms by the root mean square round to float32 in any.
    eps = torch.finfo(torch.float32 if family == "bart" else dtype).eps
    eps = max(eps, torch.finfo(dtype).eps)
    assert max(step.tolerance for step in check.steps) < 1000 * eps


@pytest.mark.parametrize("words", [1, 25])
@pytest.mark.parametrize("family", ["roberta", "t5", "deberta-v2", "mistral", "big_bird"])
def test_short_and_long_sentences_tick(family: str, words: int) -> None:
    check_ticks(small_model(family), Sentence("word " * words))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("bert", {"is_decoder": True}),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False}),
        ("albert", {"num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}),
        ("bart", {"scale_embedding": True, "activation_function": "silu"}),
        ("t5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
        ("llama", {"num_key_value_heads": 1, "attention_bias": True}),
        ("deberta", {"pos_att_type": "p2c", "talking_head": True, "embedding_size": 16}),
        # Keys of the second version mean nothing to the first.
        ("deberta", {"position_buckets": 4, "share_att_key": True, "norm_rel_ebd": "layer_norm"}),
        ("deberta masked-lm", {"legacy": False}),
        ("deberta-v2 masked-lm", {"legacy": False, "relative_attention": False}),
        ("deberta-v2", {"pos_att_type": ["c2p", "p2p"], "share_att_key": False}),
        ("roformer", {"rotary_value": True, "embedding_size": 24, "is_decoder": True}),
        ("esm", {"position_embedding_type": "absolute", "emb_layer_norm_before": True}),
        ("esm", {"token_dropout": False, "rope_theta": 40.0, "is_decoder": True}),
        ("big_bird", {"attention_type": "original_full", "use_bias": False, "is_decoder": True}),
        # Too short for blocks of this size: everything is looked at.
        ("big_bird", {"block_size": 3, "rescale_embeddings": True}),
        ("squeezebert", {"q_groups": 1, "k_groups": 2, "v_groups": 3, "intermediate_groups": 8}),
    ],
)
def test_choices_of_the_configuration_tick(name: str, changes: dict[str, Any]) -> None:
    check_ticks(small_model(*name.split(), **changes))


@pytest.mark.parametrize(("size", "random", "words"), [(3, 1, 22), (1, 2, 10)])
def test_block_sparse_attention_ticks(size: int, random: int, words: int) -> None:
    # More than the tokens that are looked at in full; the last block is filled up.
    assert words > (5 + 2 * random) * size
    model = small_model("big_bird", block_size=size, num_random_blocks=random)
    attention = "encoder.layer.1.attention.self"
    check = check_ticks(model, Sentence("word " * words))
    assert type(model.module(True).get_submodule(attention)).__name__.endswith("SparseAttention")
    assert [step.step for step in check.at(attention)] == [
        "output",
        *(f"head {head}" for head in range(3)),
    ]


def test_full_attention_in_place_of_block_sparse_ticks() -> None:
    # The sentence is too short for blocks, so the module that the flow was read from is replaced.
    model = small_model("big_bird", block_size=64, num_random_blocks=3)
    check = check_run(model, run(model))
    assert told(check) == []
    steps = [step.step for step in check.at("encoder.layer.1.attention.self")]
    assert steps[-5:] == ["output", "weights", *(f"head {head}" for head in range(3))]


def test_masked_tokens_of_esm_tick() -> None:
    model = small_model("esm")
    run(model)
    module: Any = model.module(True)
    capture = ActivationCache()
    ids = torch.tensor([[1, 3, 40, 3, 50, 60, 2]])
    capture.inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad(), capture.recording(dict(module.named_modules())):
        module(**capture.inputs)
    check = check_run(model, capture)
    assert told(check) == []
    assert check.at("embeddings")


def test_a_bert_layer_goes_step_by_step() -> None:
    model = small_model("bert")
    module: Any = model.module(random_weights=True)
    capture = run(model)
    hooks = hook_count(module)
    check = check_run(model, capture)
    # The implementation is set back.
    assert module.config._attn_implementation == "sdpa"
    assert hook_count(module) == hooks
    assert [step.step for step in check.at("encoder.layer.1")] == [
        *("self-attention", "add & norm", "intermediate", "output & add & norm", NEXT)
    ]
    assert [step.step for step in check.at("encoder.layer.1.attention.self")] == [
        *("output", "head 0", "head 1", "head 2", "output (eager)", "weights (eager)")
    ]


@pytest.mark.parametrize(
    ("family", "path", "count"),
    [
        ("gpt2", "h.1.attn", 3),
        ("t5", "decoder.block.1.layer.1.EncDecAttention", 3),
        ("llama", "layers.1.self_attn", 4),
    ],
)
def test_heads_are_seen_before_the_projection(family: str, path: str, count: int) -> None:
    model = small_model(family)
    steps = [step.step for step in check_run(model, run(model)).at(path)]
    assert [step for step in steps if step.startswith("head ")] == [
        f"head {number}" for number in range(count)
    ]
    assert steps[-2:] == ["output (eager)", "weights (eager)"]


def test_heads_of_attention_by_blocks_of_tokens() -> None:
    sizes: dict[str, Any] = {"d_model": 24, "d_kv": 8, "d_ff": 40, "num_heads": 3}
    layers: dict[str, Any] = {"num_layers": 1, "num_decoder_layers": 1, "local_radius": 1}
    model = small_model("longt5", **sizes, **layers, vocab_size=97)
    path = "encoder.block.0.layer.0.LocalSelfAttention"
    steps = [step.step for step in check_run(model, run(model)).at(path)]
    assert [step for step in steps if step.startswith("head ")] == ["head 0", "head 1", "head 2"]


def test_each_call_of_a_shared_layer_is_checked() -> None:
    model = small_model("albert", num_hidden_layers=3)
    capture = run(model)
    path = "encoder.albert_layer_groups.0.albert_layers.0"
    steps = [step.step for step in check_run(model, capture).at(path)]
    assert [step for step in steps if step.startswith(NEXT)] == [
        f"{NEXT}, call {number}" for number in range(3)
    ]


class _Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes which kernels compute in float64."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.used: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operands = [*args, *(kwargs or {}).values()]
        if any(isinstance(it, torch.Tensor) and it.dtype == torch.float64 for it in operands):
            self.used.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("family", ["bert", "t5", "transformer-base", "mixtral", "deberta"])
def test_the_reference_uses_none_of_torchs_fused_kernels(family: str) -> None:
    model = small_model(family)
    capture = run(model)
    with _Kernels() as kernels:
        check = check_run(model, capture)
    assert told(check) == []
    fused = r"softmax|norm|gelu|silu|relu|linear|addmm|baddbmm|attention|embedding"
    # torch divides matrix products into these two.
    assert {name for name in kernels.used if re.search(fused, name)} == set()
    assert kernels.used >= {"exp", "mean"} - ({"mean"} if family == "t5" else set())
