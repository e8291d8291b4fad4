"""Checks of runs: their steps, dtypes, lengths and configurations, and unchecked modules."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from bertviewer.core.checks.check import check_module, check_run, reference_of
from bertviewer.core.checks.layer_steps import NEXT
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache, Scope
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Check
from tests.core.checks.small_models import (
    SENTENCE,
    change_output,
    crosses,
    hook_count,
    run,
    small_model,
)
from tests.core.graph.readers import parsed_heading

BERT_SELF = "encoder.layer.1.attention.self"
HALVES = (torch.bfloat16, torch.float16)


def assert_correct(model: LoadedModel, sentence: Sentence = SENTENCE) -> Check:
    """Check that every called module computes what its reference does."""
    cache = run(model, sentence)
    check = check_run(model, cache)
    assert crosses(check) == set()
    assert check.unchecked == ()
    assert {step.path for step in check.steps} == set(cache.calls)
    return check


def steps_at(check: Check, path: str) -> list[str]:
    return [step.step for step in check.at(path)]


def perturbed(family: str) -> LoadedModel:
    model = small_model(family)
    run(model)
    return model


@contextmanager
def temporary(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


STEPS = Path(__file__).parents[2] / "golden" / "check-steps.txt"


def test_names_of_steps(golden: Callable[[str, str], None]) -> None:
    """Each heading is a model; modules of first layers with more than one step are listed.

    To add a model, add a heading to the file and run pytest with ``--overwrite-golden``.
    """
    sections = []
    for heading in re.findall(r"^## (.+)$", STEPS.read_text("utf-8"), re.MULTILINE):
        family, task, changes = parsed_heading(heading)
        model = small_model(family, task, **changes)
        check = check_run(model, run(model))
        assert crosses(check) == set()
        steps = {step.path: steps_at(check, step.path) for step in check.steps}
        for path, names in steps.items():
            assert len(names) == len(set(names)), path
        lines = [
            f"{path or '(model)'}: {' | '.join(names)}"
            for path, names in steps.items()
            if len(names) > 1 and not re.search(r"\.[1-9]", path)
        ]
        sections.append("\n".join((f"## {heading}", *lines, "")))
    golden(STEPS.name, "\n".join(sections))


def test_a_check_restores_the_model() -> None:
    model = small_model("bert")
    module: Any = model.module(random_weights=True)
    cache, hooks = run(model), hook_count(module)
    check_run(model, cache)
    assert module.config._attn_implementation == "sdpa"
    assert hook_count(module) == hooks


# Families with float32 are in test_families.
@pytest.mark.parametrize(
    ("family", "dtype"),
    [
        *product(("bert", "t5", "llama", "deberta", "esm", "xlnet", "mamba"), HALVES),
        *product(("gpt2", "bart", "squeezebert"), (torch.bfloat16, torch.float64)),
    ],
)
def test_every_dtype(family: str, dtype: torch.dtype) -> None:
    model = small_model(family)
    model.module(random_weights=True).to(dtype)
    check = assert_correct(model)
    # Norms by the root mean square round to float32 in any dtype.
    eps = max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps if family == "bart" else 0.0)
    assert max(step.tolerance for step in check.steps) < 1000 * eps


@pytest.mark.parametrize("words", [1, 25])
@pytest.mark.parametrize("family", ["roberta", "t5", "deberta-v2", "mistral", "big_bird"])
def test_short_and_long_sentences(family: str, words: int) -> None:
    assert_correct(small_model(family), Sentence("word " * words))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("switch_transformers", {}),
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
        # Too short for blocks of this size: the attention is full.
        ("big_bird", {"block_size": 3, "rescale_embeddings": True}),
        ("squeezebert", {"q_groups": 1, "k_groups": 2, "v_groups": 3, "intermediate_groups": 8}),
    ],
    ids=str,
)
def test_unusual_configurations(name: str, changes: dict[str, Any]) -> None:
    assert_correct(small_model(*name.split(), **changes))


@pytest.mark.parametrize(("size", "random", "words"), [(3, 1, 22), (1, 2, 10)])
def test_block_sparse_attention(size: int, random: int, words: int) -> None:
    # Longer than sequences with full attention; the last block is filled up.
    assert words > (5 + 2 * random) * size
    model = small_model("big_bird", block_size=size, num_random_blocks=random)
    check = assert_correct(model, Sentence("word " * words))
    assert type(model.module(True).get_submodule(BERT_SELF)).__name__.endswith("SparseAttention")
    assert steps_at(check, BERT_SELF) == ["output", "head 0", "head 1", "head 2"]


def test_full_attention_that_replaces_block_sparse_attention() -> None:
    # The replaced module is that of the architecture.
    model = small_model("big_bird", block_size=64, num_random_blocks=3)
    check = check_run(model, run(model))
    assert crosses(check) == set()
    assert steps_at(check, BERT_SELF)[-5:] == ["output", "weights", "head 0", "head 1", "head 2"]


def test_masked_tokens_of_esm() -> None:
    model = perturbed("esm")
    module: Any = model.module(True)
    cache, ids = ActivationCache(), torch.tensor([[1, 3, 40, 3, 50, 60, 2]])
    cache.inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad(), cache.recording(dict(module.named_modules())):
        module(**cache.inputs)
    check = check_run(model, cache)
    assert crosses(check) == set()
    assert check.at("embeddings")


class Float64Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records which kernels compute in float64."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.used: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operands = [*args, *(kwargs or {}).values()]
        if any(isinstance(it, Tensor) and it.dtype == torch.float64 for it in operands):
            self.used.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("family", ["bert", "t5", "transformer-base", "mixtral", "deberta"])
def test_the_reference_uses_no_fused_kernels(family: str) -> None:
    model = small_model(family)
    cache = run(model)
    with Float64Kernels() as kernels:
        assert crosses(check_run(model, cache)) == set()
    fused = r"softmax|norm|gelu|silu|relu|linear|addmm|baddbmm|attention|embedding"
    assert {name for name in kernels.used if re.search(fused, name)} == set()
    assert kernels.used >= {"exp", "mean"} - ({"mean"} if family == "t5" else set())


@pytest.mark.parametrize("scope", ["units", "everything"])
def test_one_module_of_a_layer(scope: Scope) -> None:
    model, layer = perturbed("bert"), "encoder.layer.1"
    kept = ActivationCache(scope)
    run_sentence(model, SENTENCE, cache=kept, random_weights=True)
    check = check_module(model, kept, layer)
    assert {step.path for step in check.steps} == {layer, BERT_SELF}
    assert crosses(check) == set()
    assert steps_at(check_module(model, kept, f"{layer}.output.dense"), f"{layer}.output.dense")
    container = check_module(model, kept, "encoder.layer")
    assert container.steps == ()
    assert "was not called" in container.unchecked[0].reason


def test_one_module_with_experts() -> None:
    model, path = perturbed("mixtral"), "layers.1.mlp"
    kept = ActivationCache("units")
    run_sentence(model, SENTENCE, cache=kept, random_weights=True)
    assert [(it.path, it.step, it.ok) for it in check_module(model, kept, path).steps] == [
        (path, "input of gate", True),
        (path, "input of experts", True),
        (path, "output", True),
    ]
    activation = check_module(model, kept, f"{path}.experts.act_fn").steps[0]
    assert (activation.path, activation.ok) == (f"{path}.experts.act_fn", True)


def test_one_module_is_called_again_as_the_model_is_now() -> None:
    model, layer = perturbed("bert"), "encoder.layer.1"
    kept = ActivationCache("units")
    run_sentence(model, SENTENCE, cache=kept, random_weights=True)
    attention: Any = model.module(True).get_submodule(BERT_SELF)
    with temporary(attention, "query", nn.Linear(24, 24)):
        # The output differs from that of the run, and is what the formula says.
        assert crosses(check_module(model, kept, layer)) == set()
    with temporary(attention, "scaling", 1.0):
        assert crosses(check_module(model, kept, layer)) == {
            *((BERT_SELF, f"head {number}") for number in range(3)),
            *((BERT_SELF, step) for step in ("output", "output (eager)", "weights (eager)")),
            (layer, "self-attention"),
            (layer, NEXT),
        }
    assert crosses(check_module(model, kept, layer)) == set()


def test_the_reference_shares_parameters_and_changes_nothing() -> None:
    model = small_model("rwkv")
    cache = run(model)
    module: Any = model.module(random_weights=True)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    hooks, state = hook_count(module), torch.random.get_rng_state()
    reference = reference_of(model, cache.inputs).module
    assert reference is not module
    own = dict(module.named_parameters())
    assert all(it.data_ptr() == own[name].data_ptr() for name, it in reference.named_parameters())
    # RWKV divides its weights in its first call.
    assert crosses(check_run(model, cache)) == set()
    after = module.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert hook_count(module) == hooks
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_call_that_was_not_kept_is_part_of_the_enclosing_one() -> None:
    model = small_model("xlnet")
    cache = run(model)
    for path in [path for path in cache.calls if path.startswith("layer.1.ff.")]:
        del cache.calls[path]
    steps = check_run(model, cache).at("layer.1.ff")
    assert [(step.step, step.ok) for step in steps] == [("output", True)]


NO_REFERENCE = "a reference instance cannot be run on its inputs"
NOT_AGAIN = (
    "the attention could not be run a second time with another implementation: "
    "encoder.layer.0.attention.self (BertSelfAttention) failed"
)


def reasons_of(check: Check) -> dict[str, str]:
    return {left.path: left.reason for left in check.unchecked}


def test_random_numbers_are_not_reproduced() -> None:
    model = small_model("reformer")
    check = check_run(model, run(model, Sentence("word " * 22)))
    assert crosses(check) == set()
    paths = [f"encoder.layers.{number}.attention.self_attention" for number in (0, 1)]
    reason = "it draws random numbers, which cannot be reproduced"
    assert reasons_of(check) == dict.fromkeys(paths, reason)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_a_cross_where_it_comes_from(value: float) -> None:
    model, path = small_model("bert"), "encoder.layer.0.intermediate.dense"

    def spoil(y: Tensor) -> Tensor:
        y[0, 1, 2] = value
        return y

    with change_output(model.module(random_weights=True).get_submodule(path), spoil):
        cache = run(model)
    check = check_run(model, cache)
    (step,) = check.at(path)
    assert (step.ok, step.max_abs_error) == (False, None)
    # The modules after it are recomputed with the same inputs.
    assert all(step.ok for step in check.at("encoder.layer.0.output"))
    assert all(step.ok for step in check.at(BERT_SELF))


def test_an_output_of_nan_alone_is_not_checked() -> None:
    model = small_model("bert")
    weight = model.module(random_weights=True).get_parameter("encoder.layer.0.output.dense.weight")
    with torch.no_grad():
        weight[0, 0] = math.nan
    check = check_run(model, run(model))
    assert check.at("encoder.layer.0.attention.self")
    assert check.at("pooler") == ()
    assert "no finite value" in reasons_of(check)["pooler"]


@pytest.mark.parametrize(
    ("family", "name", "value"),
    [
        # torch's fused attention returns numbers for scores that are NaN.
        ("bart", "encoder.layers.0.self_attn.k_proj.weight", math.nan),
        ("esm", "encoder.layer.0.attention.self.key.bias", math.nan),
        ("mixtral", "layers.1.self_attn.q_proj.weight", math.inf),
        # torch's GELU of Inf is NaN.
        ("deberta", "encoder.layer.0.intermediate.dense.bias", math.inf),
        # Squares overflow in float32 only.
        ("gpt2", "h.1.ln_2.weight", 1e30),
        ("t5", "encoder.block.0.layer.0.layer_norm.weight", 1e30),
    ],
)
def test_an_overflow_in_the_reference_too_is_not_a_cross(
    family: str, name: str, value: float
) -> None:
    model = perturbed(family)
    with torch.no_grad():
        model.module(random_weights=True).get_parameter(name).view(-1)[:3] = value
    assert crosses(check_run(model, run(model))) == set()


def test_a_module_of_another_class_is_not_checked() -> None:
    model = small_model("bert")
    cache = run(model)
    model.module(True).get_submodule("encoder.layer.0.output").dense = nn.Identity()
    check = check_run(model, cache)
    # The model cannot run any more, and the module cannot be recomputed.
    assert reasons_of(check).keys() == {"", "encoder.layer.0.output.dense"}
    assert reasons_of(check)["encoder.layer.0.output.dense"] == NO_REFERENCE
    assert check.at("encoder.layer.1.output.dense")


def test_reasons_are_not_texts_of_exceptions() -> None:
    model = small_model("bert")
    cache = run(model)
    module: Any = model.module(True)
    first, second = (layer.attention.self for layer in module.encoder.layer)
    del first.query
    second.value.weight = nn.Parameter(torch.zeros(5, 7))
    del module.pooler
    check = check_run(model, cache)
    # Modules that contain these are checked piece by piece.
    without_parameters = (
        *("encoder.layer.0.attention.self.query", "encoder.layer.1.attention.self.value"),
        "pooler.dense",
    )
    assert reasons_of(check) == {"": NOT_AGAIN} | dict.fromkeys(without_parameters, NO_REFERENCE)
    assert check.at("encoder.layer.1.output.dense")


def test_attention_that_cannot_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise AssertionError("the text of an exception")

    model = small_model("bert")
    cache = run(model)
    attention = model.module(True).get_submodule("encoder.layer.0.attention.self")
    monkeypatch.setattr(attention, "forward", fail)
    check = check_run(model, cache)
    assert reasons_of(check) == {"": NOT_AGAIN}
    assert check.steps
    assert crosses(check) == set()
