"""The steps of a whole layer, in order, each by itself from what the run really passed on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from bertviewer.core.checking.arithmetic import Arithmetic
from bertviewer.core.checking.evaluator import Evaluator, NoFormulaError
from bertviewer.core.checking.families import LLAMA, POST_NORM, T5, named
from bertviewer.core.checking.layers import hidden, torch_activation
from bertviewer.core.run.capture import Call

NEXT = "= next hidden state"
"""The last step: the layer as a whole, from its input alone."""

_LAST = "final_layer_norm"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a layer and the modules in it took and gave, in one call.

    Without an arithmetic the tensors are handed out as they were given.
    """

    layer: Call
    find: Callable[[str], Call | None]
    arithmetic: Arithmetic | None

    def input(self, name: str = "") -> Tensor:
        """Return what a child took first, or the layer itself."""
        call = self._call(name)
        first = call.args[0] if call.args else next(iter(call.kwargs.values()))
        return self._take(first)

    def output(self, name: str) -> Tensor:
        """Return what a child gave: all of it, or the first."""
        return self._take(hidden(self._call(name).output))

    def _take(self, tensor: Tensor) -> Tensor:
        if self.arithmetic is None:
            return tensor
        taken: Tensor = self.arithmetic.take(tensor)
        return taken

    def _call(self, name: str) -> Call:
        call = self.layer if not name else self.find(name)
        if call is None:
            raise NoFormulaError(f"{name} was not captured")
        return call


@dataclass(frozen=True, slots=True)
class Child:
    """A step that is a module: what it gave against its own recomputation."""

    name: str
    child: str


@dataclass(frozen=True, slots=True)
class Formula:
    """A step that is no module: ``expected`` from what was seen, and where it was seen."""

    name: str
    expected: Callable[[Evaluator, Seen], Tensor]
    actual: Callable[[Seen], Tensor]


Step = Child | Formula


def _add_and_norm(name: str, residual: str, added: str, norm: str) -> Formula:
    """Return norm(residual's input + added's output)."""
    return Formula(
        name,
        lambda module, seen: module.below(norm)(
            module.round(seen.input(residual) + seen.output(added))
        ),
        lambda seen: seen.output(norm),
    )


def _add(name: str, residual: str, added: str, into: str) -> Formula:
    """Return residual's input + added's output, which is seen as the input of ``into``."""
    return Formula(
        name,
        lambda _, seen: seen.input(residual) + seen.output(added),
        lambda seen: seen.input(into),
    )


def _widen(first: str, act: str, into: str) -> Formula:
    """Return f(first(X)), which is seen as the input of ``into``."""
    return Formula(
        "intermediate",
        lambda module, seen: module.below(act)(module.below(first)(seen.input(first))),
        lambda seen: seen.input(into),
    )


def _narrow(second: str, residual: str, norm: str) -> Formula:
    """Return norm(second(H) + residual's input)."""
    return Formula(
        "output & add & norm",
        lambda module, seen: module.below(norm)(
            module.round(module.below(second)(seen.input(second)) + seen.input(residual))
        ),
        lambda seen: seen.output(norm),
    )


_TORCH_WIDEN = Formula(
    "intermediate",
    lambda module, seen: torch_activation(module)(module.below("linear1")(seen.input("linear1"))),
    lambda seen: seen.input("linear2"),
)


def _bert(module: Evaluator) -> tuple[Step, ...]:
    cross = (
        Child("cross-attention", "crossattention.self"),
        Child("cross-attention's add & norm", "crossattention.output"),
    )
    return (
        Child("self-attention", "attention.self"),
        Child("add & norm", "attention.output"),
        *(cross if module.has("crossattention") else ()),
        Child("intermediate", "intermediate"),
        Child("output & add & norm", "output"),
    )


def _mpnet(_: Evaluator) -> tuple[Step, ...]:
    return (
        Child("self-attention", "attention.attn"),
        _add_and_norm("add & norm", "", "attention.attn", "attention.LayerNorm"),
        Child("intermediate", "intermediate"),
        Child("output & add & norm", "output"),
    )


def _albert(_: Evaluator) -> tuple[Step, ...]:
    return (
        Child("self-attention & add & norm", "attention"),
        _widen("ffn", "activation", "ffn_output"),
        _narrow("ffn_output", "ffn", "full_layer_layer_norm"),
    )


def _distilbert(_: Evaluator) -> tuple[Step, ...]:
    return (
        Child("self-attention", "attention"),
        _add_and_norm("add & norm", "", "attention", "sa_layer_norm"),
        _widen("ffn.lin1", "ffn.activation", "ffn.lin2"),
        _narrow("ffn.lin2", "ffn", "output_layer_norm"),
    )


def _bart(module: Evaluator) -> tuple[Step, ...]:
    before = "encoder_attn_layer_norm" if module.has("encoder_attn") else ""
    cross = (
        Child("cross-attention", "encoder_attn"),
        _add_and_norm("cross-attention's add & norm", "encoder_attn", "encoder_attn", before),
    )
    return (
        Child("self-attention", "self_attn"),
        _add_and_norm("add & norm", "", "self_attn", "self_attn_layer_norm"),
        *(cross if before else ()),
        _widen("fc1", "activation_fn", "fc2"),
        _narrow("fc2", "fc1", "final_layer_norm"),
    )


def _mbart(module: Evaluator) -> tuple[Step, ...]:
    crosses = module.has("encoder_attn")
    cross = (
        Child("norm before cross-attention", "encoder_attn_layer_norm"),
        Child("cross-attention", "encoder_attn"),
        _add("add after cross-attention", "encoder_attn_layer_norm", "encoder_attn", _LAST),
    )
    return (
        Child("norm", "self_attn_layer_norm"),
        Child("self-attention", "self_attn"),
        _add("add", "", "self_attn", "encoder_attn_layer_norm" if crosses else _LAST),
        *(cross if crosses else ()),
        Child("norm after the addition", _LAST),
        _widen("fc1", "activation_fn", "fc2"),
    )


def _pre_norm(first: str, attention: str, second: str, network: str) -> Callable[..., Any]:
    """Return the steps of a layer whose norms stand before the sub-layers."""
    steps = (
        Child("norm", first),
        Child("self-attention", attention),
        _add("add", "", attention, second),
        Child("norm after the addition", second),
        Child("feed-forward", network),
    )
    return lambda _module: steps


def _t5(module: Evaluator) -> tuple[Step, ...]:
    crosses = module.has("layer.1.EncDecAttention")
    last = "layer.2" if crosses else "layer.1"
    return (
        Child("norm & self-attention & add", "layer.0"),
        *((Child("norm & cross-attention & add", "layer.1"),) if crosses else ()),
        Child("norm & feed-forward & add", last),
    )


def _esm(module: Evaluator) -> tuple[Step, ...]:
    cross = (Child("norm, cross-attention & add", "crossattention"),)
    return (
        Child("norm", "attention.LayerNorm"),
        Child("self-attention", "attention.self"),
        Child("projection & add", "attention.output"),
        *(cross if module.has("crossattention") else ()),
        Child("norm after the addition", "LayerNorm"),
        Child("intermediate", "intermediate"),
        Child("output & add", "output"),
    )


_SQUEEZEBERT = (
    Child("self-attention", "attention"),
    Child("add & norm", "post_attention"),
    Child("intermediate", "intermediate"),
    Child("output & add & norm", "output"),
)


def _torch(module: Evaluator) -> tuple[Step, ...]:
    crosses = module.has("multihead_attn")
    last = "norm3" if crosses else "norm2"
    if module.attribute("norm_first"):
        cross: tuple[Step, ...] = (
            Child("norm before cross-attention", "norm2"),
            Child("cross-attention", "multihead_attn"),
            _add("add after cross-attention", "norm2", "multihead_attn", "norm3"),
        )
        return (
            Child("norm", "norm1"),
            Child("self-attention", "self_attn"),
            _add("add", "", "self_attn", "norm2"),
            *(cross if crosses else ()),
            Child("norm after the addition", last),
            _TORCH_WIDEN,
        )
    cross = (
        Child("cross-attention", "multihead_attn"),
        _add_and_norm("cross-attention's add & norm", "multihead_attn", "multihead_attn", "norm2"),
    )
    return (
        Child("self-attention", "self_attn"),
        _add_and_norm("add & norm", "", "self_attn", "norm1"),
        *(cross if crosses else ()),
        _TORCH_WIDEN,
        _narrow("linear2", "linear1", last),
    )


LAYER_STEPS: Mapping[str, Callable[[Evaluator], tuple[Step, ...]]] = {
    **dict.fromkeys(named(POST_NORM, "Layer"), _bert),
    "MPNetLayer": _mpnet,
    "AlbertLayer": _albert,
    "TransformerBlock": _distilbert,
    "GPT2Block": _pre_norm("ln_1", "attn", "ln_2", "mlp"),
    "BartEncoderLayer": _bart,
    "BartDecoderLayer": _bart,
    "ModernBertEncoderLayer": _pre_norm("attn_norm", "attn", "mlp_norm", "mlp"),
    "EsmLayer": _esm,
    "SqueezeBertModule": lambda _module: _SQUEEZEBERT,
    "MBartEncoderLayer": _mbart,
    "MBartDecoderLayer": _mbart,
    **dict.fromkeys(
        named(LLAMA, "DecoderLayer"),
        _pre_norm("input_layernorm", "self_attn", "post_attention_layernorm", "mlp"),
    ),
    **dict.fromkeys(named(T5, "Block"), _t5),
    "TransformerEncoderLayer": _torch,
    "TransformerDecoderLayer": _torch,
}


def next_state(states: Any, number: int, is_normed: bool) -> Tensor | None:
    """Return the hidden state after layer ``number``, if the model gave it as it is.

    A model whose last norm follows the stack gives its last hidden state normalised.
    """
    if not isinstance(states, tuple) or number + 1 >= len(states):
        return None
    if is_normed and number + 2 == len(states):
        return None
    state: Tensor = states[number + 1]
    return state
