"""The steps of a whole layer, in order, each by itself from what the run really passed on."""

from collections.abc import Callable, Iterator, Mapping

from torch import Tensor

from bertviewer.core.checking.arithmetic import Arithmetic
from bertviewer.core.checking.blocks import activation
from bertviewer.core.checking.evaluator import Evaluator, NoRecomputationError
from bertviewer.core.checking.layers import (
    arguments,
    described,
    hidden,
    norms_before,
    sub_layers,
)
from bertviewer.core.families.layer import Halves, Layer, Network
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.frozen import frozen
from bertviewer.core.run.capture import KeptCall

NEXT = "= next hidden state"
"""The last step: the layer as a whole, from its input alone."""


@frozen
class Seen:
    """What a layer and the modules in it took and gave, in one call.

    Without an arithmetic the tensors are handed out as they were given.
    """

    layer: KeptCall
    find: Callable[[str], KeptCall | None]
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

    def _call(self, name: str) -> KeptCall:
        call = self.layer if not name else self.find(name)
        if call is None:
            raise NoRecomputationError(f"{name} was not captured")
        return call


@frozen
class Child:
    """A step that is a module: what it gave against its own recomputation."""

    name: str
    child: str


@frozen
class Calculation:
    """A step that is no module: ``expected`` from what was seen, and where it was seen."""

    name: str
    expected: Callable[[Evaluator, Seen], Tensor]
    actual: Callable[[Seen], Tensor]


Step = Child | Calculation


def layer_steps(module: Evaluator, call: KeptCall) -> tuple[Step, ...]:
    """Return the steps of one call of a layer."""
    special = _SPECIAL.get(module.kind)
    return special(module) if special else tuple(_described(module, call))


def _described(module: Evaluator, call: KeptCall) -> Iterator[Step]:
    """Yield the steps of a layer of which the family says how it is made."""
    made = described(module)
    before = norms_before(module, made)
    parts = tuple(sub_layers(module, made, arguments(made, call.args, call.kwargs)))
    norms = [part.norm for part in parts] + [made.network_norm]
    for number, (part, after) in enumerate(zip(parts, norms[1:], strict=True)):
        crosses = number > 0
        name = "cross-attention" if crosses else "self-attention"
        add_and_norm = "cross-attention's add & norm" if crosses else "add & norm"
        if part.block == part.path:
            yield Child(f"{name} & {add_and_norm}", part.path)
        elif part.add and not before:
            yield Child(name, part.path)
            yield Child(add_and_norm, part.add)
        elif part.add and crosses:
            yield Child("norm, cross-attention & add", part.block)
        elif part.add:
            yield Child("norm", part.norm)
            yield Child(name, part.path)
            yield Child("projection & add", part.add)
        elif before:
            yield Child("norm before cross-attention" if crosses else "norm", part.norm)
            yield Child(name, part.path)
            residual = part.norm if crosses else ""
            yield _add(
                "residual addition after cross-attention" if crosses else "add",
                residual,
                part.path,
                after,
            )
        else:
            yield Child(name, part.path)
            yield _add_and_norm(add_and_norm, part.path if crosses else "", part.path, part.norm)
    if before:
        yield Child("norm after the residual addition", made.network_norm)
    yield from _network(module, made, before=before)


def _network(module: Evaluator, made: Layer, *, before: bool) -> Iterator[Step]:
    if isinstance(made.network, Halves):
        yield Child("intermediate", made.network.first)
        yield Child("output & add" if before else "output & add & norm", made.network.second)
    elif isinstance(made.network, str) and before:
        yield Child("feed-forward", made.network)
    else:
        at, own = (made.network, None) if isinstance(made.network, str) else ("", made.network)
        holder = module.below(at) if at else module
        parts = own or holder.description
        if not isinstance(parts, Network):
            raise NoRecomputationError(
                f"{holder.node.class_name} is no network that a family describes"
            )
        first, second = (f"{at}.{name}" if at else name for name in (parts.first, parts.second))
        yield Calculation(
            "intermediate",
            lambda module, seen: activation(module.below(at) if at else module, parts.act)(
                module.below(first)(seen.input(first))
            ),
            lambda seen: seen.input(second),
        )
        if not before:
            yield _narrow(second, first, made.network_norm)


def _add_and_norm(name: str, residual: str, added: str, norm: str) -> Calculation:
    """Return norm(residual's input + added's output)."""
    return Calculation(
        name,
        lambda module, seen: module.below(norm)(
            module.round(seen.input(residual) + seen.output(added))
        ),
        lambda seen: seen.output(norm),
    )


def _add(name: str, residual: str, added: str, into: str) -> Calculation:
    """Return residual's input + added's output, which is seen as the input of ``into``."""
    return Calculation(
        name,
        lambda _, seen: seen.input(residual) + seen.output(added),
        lambda seen: seen.input(into),
    )


def _narrow(second: str, residual: str, norm: str) -> Calculation:
    """Return norm(second(H) + residual's input)."""
    return Calculation(
        "output & add & norm",
        lambda module, seen: module.below(norm)(
            module.round(module.below(second)(seen.input(second)) + seen.input(residual))
        ),
        lambda seen: seen.output(norm),
    )


def _t5(module: Evaluator) -> tuple[Step, ...]:
    crosses = module.has("layer.1.EncDecAttention")
    last = "layer.2" if crosses else "layer.1"
    return (
        Child("norm & self-attention & add", "layer.0"),
        *((Child("norm & cross-attention & add", "layer.1"),) if crosses else ()),
        Child("norm & feed-forward & add", last),
    )


def _squeezebert(_: Evaluator) -> tuple[Step, ...]:
    return (
        Child("self-attention", "attention"),
        Child("add & norm", "post_attention"),
        Child("intermediate", "intermediate"),
        Child("output & add & norm", "output"),
    )


_SPECIAL: Mapping[ModuleKind | None, Callable[[Evaluator], tuple[Step, ...]]] = {
    ModuleKind.T5_LAYER: _t5,
    ModuleKind.SQUEEZEBERT_LAYER: _squeezebert,
}
"""Layers that no description fits.

T5's is a list of modules, SqueezeBERT's convolutions take the features first.
"""

LAYERS = frozenset({ModuleKind.LAYER, *_SPECIAL})
