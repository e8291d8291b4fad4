"""The attentions of a run by layer: order, names, and the one to show for a selected module."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bertviewer.core.analysis.attention_modules import (
    attention_paths,
    attention_tokens,
    attentions_at,
)
from bertviewer.core.analysis.layers import layer_stacks
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture

Stack = Sequence[tuple[str, Sequence[str]]]
"""The layers of a stack by path, each with its attentions."""

_SIDES = ("encoder", "decoder")


class AttentionLayer(Struct, frozen=True):
    """One attention of a run, or one call of an attention in a shared layer.

    Attributes:
        path: the module.
        call: the index of the call.
        number: the layer's, from 0; ``None`` for an attention outside of layers.
        stack: "encoder" or "decoder", "" if there is only one stack.
        kind: "self" or "cross" in a layer with both, "" in a layer with one attention.
    """

    path: str
    call: int = 0
    number: int | None = None
    stack: str = ""
    kind: str = ""

    @property
    def name(self) -> str:
        """The long form: "layer 3", "decoder layer 3, cross"."""
        if self.number is None:
            return self.path
        layer = f"{self.stack} layer {self.number}".strip()
        return f"{layer}, {self.kind}" if self.kind else layer

    @property
    def label(self) -> str:
        """The short form: "3", "d 3 cross"."""
        if self.number is None:
            return self.path
        return f"{self.stack[:1]} {self.number} {self.kind}".strip()


def attention_layers(architecture: Architecture, run: ActivationRun) -> tuple[AttentionLayer, ...]:
    """Return the attentions that a run called: by stack, then by layer, then those outside.

    A shared layer, as in ALBERT, has one for each call.
    """
    calls = {module.path: len(module.calls) for module in run.modules}
    paths = [path for path in attention_paths(architecture) if path in calls]
    stacks = [
        [
            # XLM has no layer modules, but lists of attentions, norms and so on.
            (node.path, [path for path in paths if f"{path}.".startswith(f"{node.path}.")])
            for node in stack
        ]
        for stack in layer_stacks(architecture)
    ]
    stacks = [stack for stack in stacks if any(inner for _, inner in stack)]
    is_encoder_decoder = architecture.is_encoder_decoder
    found: list[AttentionLayer] = []
    for stack in stacks:
        side = _side(stack[0][0]) if len(stacks) > 1 else ""
        kinds: dict[str, str] = {}
        for layer, inner in stack:
            kinds |= _kinds(run, layer, inner, is_encoder_decoder)
        found += [
            AttentionLayer(path, call, number, side, kinds[path])
            for number, each in enumerate(_calls_by_layer(stack, calls))
            for path, call in each
        ]
    inside = {one.path for one in found}
    outside = [path for path in paths if path not in inside]
    return (*found, *(AttentionLayer(p, call) for p in outside for call in range(calls[p])))


def shown_layer(
    architecture: Architecture,
    layers: Sequence[AttentionLayer],
    path: str,
    before: AttentionLayer | None,
) -> AttentionLayer | None:
    """Return the attention to show when the module at ``path`` is selected.

    In a layer with several attentions it has the same kind as the one ``before``. A module outside
    of layers keeps the one before, or selects the first.
    """
    inside = attentions_at(architecture, path)
    candidates = [layer for layer in layers if layer.path in inside] or list(layers)
    if before is None or not candidates:
        return next(iter(candidates), None)
    return max(
        candidates,
        key=lambda one: (one == before, one.kind == before.kind and one.call == before.call),
    )


def _calls_by_layer(stack: Stack, calls: Mapping[str, int]) -> Iterator[list[tuple[str, int]]]:
    """Yield, for each call of each layer, its attentions with their calls.

    If the module around the stack is called several times, as a group in ALBERT, all layers are
    called in order each time. Otherwise the calls of a layer follow each other.
    """
    rounds = calls.get(stack[0][0].rpartition(".")[0].rpartition(".")[0], 1)
    for turn in range(rounds):
        for _, inner in stack:
            each = max((calls[path] // rounds for path in inner), default=1)
            for call in range(turn * each, (turn + 1) * each):
                yield [(path, call) for path in inner if call < calls[path]]


def _side(layer: str) -> str:
    """Return "encoder" or "decoder" if the path has it, else the path around the layers' list."""
    parts = layer.split(".")
    name = ".".join(parts[:-2]) or parts[0]
    return next((part for part in parts if part in _SIDES), name)


def _kinds(
    run: ActivationRun, layer: str, inner: Sequence[str], is_encoder_decoder: bool
) -> dict[str, str]:
    """Return what distinguishes the attentions of one layer."""
    if len(inner) < 2:
        return dict.fromkeys(inner, "")
    crossing = {path for path in inner if attention_tokens(run, path, is_encoder_decoder)[2]}
    if len(inner) == 2 and len(crossing) == 1:
        return {path: "cross" if path in crossing else "self" for path in inner}
    return {path: path.removeprefix(f"{layer}.") for path in inner}
