"""A fault that is put into a model is found where it is, in every family where there can be one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.checks.check import check_run
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.check import Check
from bertviewer.core.schema.modules import ancestors
from tests.core.checks.crossing import crosses
from tests.core.checks.small_models import change_output, run, small_model

_SIZES: dict[str, Any] = {
    **{"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"intermediate_size": 40, "max_position_embeddings": 64},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
}
_TINY = (
    *("bert", "albert", "gpt2", "t5", "bart", "llama", "qwen3"),
    *("modernbert", "deberta", "mpnet", "roformer", "esm", "squeezebert", "mixtral"),
)
FAMILIES: dict[str, dict[str, Any]] = {
    **{family: {} for family in _TINY},
    "gpt_neox": {**_SIZES, "rotary_pct": 1.0},
    "falcon": _SIZES,
    "opt": {**_SIZES, "ffn_dim": 40, "word_embed_proj_dim": 32},
    "olmo2": {**_SIZES, "num_key_value_heads": 2},
}


class Sound(Struct, frozen=True):
    """A model without faults, and what is found of it."""

    model: LoadedModel
    module: nn.Module
    check: Check

    @property
    def attention(self) -> str:
        """The last attention of which heads are seen."""
        return [step.path for step in self.check.steps if step.step.startswith("head 0")][-1]

    @property
    def layer(self) -> str:
        """The layer that it is in."""
        parts = self.attention.split(".")
        place = max(n for n, part in enumerate(parts) if part.isdecimal())
        layers = [step.path for step in self.check.steps if step.step.startswith("= next")]
        return next(
            (p for p in ancestors(self.attention) if p in layers), ".".join(parts[: place + 1])
        )

    def inside(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the modules that are called in one."""
        called = {step.path for step in self.check.steps}
        for name, inner in self.module.get_submodule(path).named_modules(prefix=path):
            if name in called and name != path:
                yield name, inner


@cache
def sound(family: str) -> Sound:
    model = small_model(family, attn_implementation="eager", **FAMILIES[family])
    check = check_run(model, run(model))
    assert not check.failed
    return Sound(model, model.module(random_weights=True), check)


class Fault(Struct, frozen=True):
    """Where a check has to find a fault: in one of these steps, and in another module."""

    path: str
    steps: tuple[str, ...] = ("output",)
    also: str = ""


@contextmanager
def attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = owner.__dict__.get(name, owner)
    object.__setattr__(owner, name, value)
    try:
        yield
    finally:
        if before is owner:
            object.__delattr__(owner, name)
        else:
            object.__setattr__(owner, name, before)


def wrong_epsilon(it: Sound, stack: ExitStack) -> Fault | None:
    for path, inner in it.inside(it.layer):
        for name in ("eps", "variance_epsilon"):
            if isinstance(getattr(inner, name, None), float):
                stack.enter_context(attribute(inner, name, 0.05))
                return Fault(path)
    return None


def missing_scale(it: Sound, stack: ExitStack) -> Fault | None:
    inner = it.module.get_submodule(it.attention)
    for name in ("scaling", "scale"):
        if isinstance(value := getattr(inner, name, None), float) and value != 1:
            stack.enter_context(attribute(inner, name, 1.0))
            return Fault(it.attention, ("output", "head 0"))
    return None


def _projections(it: Sound) -> list[tuple[str, Any]]:
    found = [(p, inner) for p, inner in it.inside(it.attention) if isinstance(inner, nn.Linear)]
    return [(p, inner) for p, inner in found if inner.weight.shape == found[0][1].weight.shape]


def swapped_queries_and_keys(it: Sound, stack: ExitStack) -> Fault | None:
    chosen = [pair for pair in _projections(it) if pair[0].rpartition(".")[2][:1] in "qk"]
    if len(chosen) < 2:
        return None
    (path, one), (second, other) = chosen[:2]
    swapped = other.forward, one.forward
    for inner, forward in zip((one, other), swapped, strict=True):
        stack.enter_context(attribute(inner, "forward", forward))
    return Fault(path, also=second)


def transposed_weight(it: Sound, stack: ExitStack) -> Fault | None:
    for path, inner in it.inside(it.layer):
        if isinstance(inner, nn.Linear) and inner.in_features == inner.out_features:

            def forward(x: Tensor, inner: nn.Linear = inner) -> Tensor:
                return nn.functional.linear(x, inner.weight.mT, inner.bias)

            stack.enter_context(attribute(inner, "forward", forward))
            return Fault(path)
    return None


def wrong_activation(it: Sound, stack: ExitStack) -> Fault | None:
    for path, inner in it.inside(it.layer):
        is_leaf = not list(inner.children()) and not list(inner.parameters())
        if is_leaf and ("act" in path.rpartition(".")[2].lower()):
            stack.enter_context(attribute(inner, "forward", nn.functional.softsign))
            return Fault(path)
    return None


def dropped_residual(it: Sound, stack: ExitStack) -> Fault | None:
    """Let the layer return its output without its input."""
    layer: Any = it.module.get_submodule(it.layer)
    usual = layer.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        given, output = (*args, *kwargs.values())[0], usual(*args, **kwargs)
        if isinstance(output, dict):
            return {name: output[name] - given for name in ("feature_map",)}
        first, *rest = output if isinstance(output, tuple) else (output,)
        return (first - given, *rest) if isinstance(output, tuple) else first - given

    forward.__wrapped__ = usual  # type: ignore[attr-defined]
    stack.enter_context(attribute(layer, "forward", forward))
    return Fault(it.layer, ("= next hidden state", "output"))


def off_by_one_mask(it: Sound, stack: ExitStack) -> Fault | None:
    inner: Any = it.module.get_submodule(it.attention)
    usual, found = inner.forward, list[bool]()

    def moved(value: Any) -> Any:
        is_mask = isinstance(value, Tensor) and value.dim() == 4 and value.shape[-1] > 4
        if is_mask and len({*value[0, 0].flatten().tolist()}) == 2:
            found.append(True)
            return value.roll(1, -1)
        return value

    def forward(*args: Any, **kwargs: Any) -> Any:
        return usual(*map(moved, args), **{name: moved(item) for name, item in kwargs.items()})

    forward.__wrapped__ = usual  # type: ignore[attr-defined]
    stack.enter_context(attribute(inner, "forward", forward))
    run(it.model)
    return Fault(it.attention, ("output", "head 0")) if found else None


def wrong_rotary_base(it: Sound, stack: ExitStack) -> Fault | None:
    for path, inner in it.inside(""):
        for name, buffer in inner.named_buffers(recurse=False):
            if name.endswith("inv_freq") and "original" not in name:
                steps = torch.arange(len(buffer)) / len(buffer)
                stack.callback(buffer.copy_, buffer.clone())
                buffer.copy_(buffer / 5**steps)
                return Fault(path, (f"buffer {name}",))
    return None


def wrong_head_order(it: Sound, stack: ExitStack) -> Fault | None:
    """Let the heads change places before they are projected, or as they are returned."""
    inner = it.module.get_submodule(it.attention)
    heads = sum(
        step.step.startswith("head ") and step.path == it.attention for step in it.check.steps
    ) // max(1, sum(s.step.startswith("head 0") and s.path == it.attention for s in it.check.steps))
    last = next((i for p, i in it.inside(it.attention) if p.rpartition(".")[2] in _OUTPUTS), None)
    if last is not None:
        stack.enter_context(
            last.register_forward_pre_hook(
                lambda _module, args: (args[0].roll(args[0].shape[-1] // heads, -1), *args[1:])
            )
        )
        return Fault(it.attention, ("head 0",))

    def returned(output: Any) -> Any:
        axis = -1 if output[0].shape[-1] % heads == 0 else 1
        size = output[0].shape[axis] // heads
        return (output[0].roll(size, axis), *output[1:])

    if inner.__class__.__name__.startswith("SqueezeBert"):
        return None  # it returns a dictionary
    stack.enter_context(change_output(inner, returned))
    return Fault(it.attention, ("output", "head 0"))


_OUTPUTS = ("o_proj", "out_proj", "out_lin", "c_proj", "o", "dense", "Wo")
FAULTS: tuple[Callable[[Sound, ExitStack], Fault | None], ...] = (
    wrong_epsilon,
    missing_scale,
    swapped_queries_and_keys,
    transposed_weight,
    wrong_activation,
    dropped_residual,
    off_by_one_mask,
    wrong_rotary_base,
    wrong_head_order,
)


@pytest.mark.parametrize("family", FAMILIES)
def test_faults_are_found_where_they_are(family: str) -> None:
    it = sound(family)
    tried = []
    for put in FAULTS:
        with torch.no_grad(), ExitStack() as stack:
            fault = put(it, stack)
            if fault is None:
                continue
            tried.append(put.__name__)
            found = crosses(check_run(it.model, run(it.model)))
        at_fault = {step for path, step in found if path == fault.path}
        assert any(step.startswith(fault.steps) for step in at_fault), put.__name__
        # Nothing next to it is, but what it is in.
        around = {*ancestors(fault.path), *ancestors(fault.also)}
        assert {path for path, _ in found} <= around, put.__name__
    assert {"wrong_epsilon", "dropped_residual", "wrong_head_order"} - {*tried} <= _WITHOUT
    assert len(tried) >= 3


_WITHOUT = {"wrong_head_order"}


def in_a_narrower_window(model: Any) -> None:
    model.config.sliding_window = 3


def after_more_padding(model: Any) -> None:
    model.embeddings.padding_idx = 3


def with_slopes_of_other_heads(model: Any) -> None:
    usual = model.build_alibi_tensor
    model.build_alibi_tensor = lambda *args, **kwargs: usual(*args, **kwargs).flip(0)


def mixed_with_the_next_token(model: Any) -> None:
    inner = model.encoder.layer[1].fourier.self
    usual = inner.fourier_transform
    inner.fourier_transform = lambda x: usual(x).roll(1, 1)


def capped(model: Any) -> None:
    model.layers[1].self_attn.attn_logit_softcapping = 0.5


def not_made_up_for(model: Any) -> None:
    model.embeddings.token_dropout = False


def without_a_kind(model: Any) -> None:
    model.encoder.layer[1].attention.self.pos_att_type = ["c2p"]


def in_other_heads(model: Any) -> None:
    model.encoder.layer[1].attention.self.num_attention_heads = 4


def values_turned(model: Any) -> None:
    model.encoder.layer[1].attention.self.rotary_value = True


def at_other_blocks(model: Any) -> None:
    inner = model.encoder.layer[1].attention.self

    def other(**given: Any) -> Any:
        blocks = given["from_seq_length"] // given["from_block_size"] - 2
        return [np.full((blocks, 1), 3, dtype=np.int32)] * given["num_heads"]

    inner._bigbird_block_rand_mask_with_head = other


def normed_over_positions(model: Any) -> None:
    norm = model.encoder.layers[1].output.layernorm
    norm.forward = lambda x: nn.functional.layer_norm(x, x.shape[-1:])


def with_other_residuals(model: Any) -> None:
    model.layers[0].residual_multiplier = 1.5


def scaled_rotation(model: Any) -> None:
    model.rotary_emb.attention_scaling = 1.5


_BERT_ATTENTION = "encoder.layer.1.attention.self"
_BLOOM = {"vocab_size": 97, "hidden_size": 32, "n_layer": 2, "n_head": 4}
_GEMMA = {**_SIZES, "num_key_value_heads": 2, "head_dim": 8, "attn_implementation": "eager"}


@pytest.mark.parametrize(
    ("family", "values", "change", "path", "step"),
    [
        ("mistral", {}, in_a_narrower_window, "", "input of layers.0"),
        ("roberta", {}, after_more_padding, "embeddings", "input of position_embeddings"),
        ("bloom", _BLOOM, with_slopes_of_other_heads, "", "input of h.1"),
        ("fnet", {}, mixed_with_the_next_token, "encoder.layer.1.fourier.self", "output"),
        ("gemma2", _GEMMA, capped, "layers.1.self_attn", "head 2"),
        ("esm", {}, not_made_up_for, "embeddings", "output"),
        ("deberta", {}, without_a_kind, _BERT_ATTENTION, "output"),
        ("deberta", {"talking_head": False}, in_other_heads, _BERT_ATTENTION, "output"),
        ("roformer", {}, values_turned, _BERT_ATTENTION, "output"),
        ("big_bird", {}, at_other_blocks, _BERT_ATTENTION, "output"),
        ("squeezebert", {}, normed_over_positions, "encoder.layers.1.output.layernorm", "output"),
        ("granite", _SIZES, with_other_residuals, "layers.0", "= next hidden state"),
        ("olmo2", _SIZES, scaled_rotation, "rotary_emb", "output"),
    ],
)
def test_a_change_of_plain_attributes_is_found(
    family: str, values: dict[str, Any], change: Callable[[Any], None], path: str, step: str
) -> None:
    model = small_model(family, **values)
    change(model.module(random_weights=True))
    found = crosses(check_run(model, run(model)))
    assert (path, step) in found
    assert {place for place, _ in found} <= {path, *ancestors(path)}
