"""The attentions of a run in the order in which they follow one another, and which one is meant."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bertviewer.core.analysis.attention_places import attention_paths, attentions_at, places_of
from bertviewer.core.analysis.layer_parts import layer_stacks
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture

Stack = Sequence[tuple[str, Sequence[str]]]
"""The layers of a stack by their paths, each with the attentions in it."""

_SIDES = ("encoder", "decoder")


class AttentionLayer(Struct, frozen=True):
    """One attention of a run, or one call of an attention that a shared layer has.

    Attributes:
        path: the module's path.
        call: which of its calls this is.
        number: the layer's, counted from 0; ``None`` for an attention outside of all layers.
        stack: "encoder" or "decoder", "" where there is just one stack of layers.
        kind: "self" or "cross" where a layer has both, "" where it has one attention.
    """

    path: str
    call: int = 0
    number: int | None = None
    stack: str = ""
    kind: str = ""

    @property
    def name(self) -> str:
        """It in words: "layer 3", "decoder layer 3, cross"."""
        if self.number is None:
            return self.path
        layer = f"{self.stack} layer {self.number}".strip()
        return f"{layer}, {self.kind}" if self.kind else layer

    @property
    def label(self) -> str:
        """It in short: "3", "d 3 cross"."""
        if self.number is None:
            return self.path
        return f"{self.stack[:1]} {self.number} {self.kind}".strip()


def attention_layers(architecture: Architecture, run: ActivationRun) -> tuple[AttentionLayer, ...]:
    """Return the attentions that a run called: stack by stack, and in each layer by layer.

    A shared layer, as ALBERT's, has one for each of its calls.
    """
    calls = {module.path: len(module.calls) for module in run.modules}
    paths = [path for path in attention_paths(architecture) if path in calls]
    stacks = [
        [
            # XLM's layers are no modules: its lists are of attentions, norms and so on.
            (node.path, [p for p in paths if f"{p}.".startswith(f"{node.path}.")])
            for node in stack
        ]
        for stack in layer_stacks(architecture)
    ]
    stacks = [stack for stack in stacks if any(inner for _, inner in stack)]
    is_encoder_decoder = bool(architecture.config.get("is_encoder_decoder"))
    found: list[AttentionLayer] = []
    for stack in stacks:
        side = _side(stack[0][0]) if len(stacks) > 1 else ""
        kinds = {
            path: kind
            for layer, inner in stack
            for path, kind in _kinds(run, layer, inner, is_encoder_decoder).items()
        }
        found += [
            AttentionLayer(path, call, number, side, kinds[path])
            for number, each in enumerate(_in_order(stack, calls))
            for path, call in each
        ]
    inside = {one.path for one in found}
    outside = [path for path in paths if path not in inside]
    return (*found, *(AttentionLayer(p, call) for p in outside for call in range(calls[p])))


def followed(
    architecture: Architecture,
    layers: Sequence[AttentionLayer],
    path: str,
    before: AttentionLayer | None,
) -> AttentionLayer | None:
    """Return which attention is meant when the module at ``path`` is selected.

    A module outside of the layers leaves it at the one ``before``, which is the first one at the
    beginning. In a layer with several it is the one of the same kind as before.
    """
    inside = attentions_at(architecture, path)
    candidates = [layer for layer in layers if layer.path in inside] or list(layers)
    if before is None or not candidates:
        return next(iter(candidates), None)
    return max(
        candidates,
        key=lambda one: (one == before, one.kind == before.kind and one.call == before.call),
    )


def _in_order(stack: Stack, calls: Mapping[str, int]) -> Iterator[list[tuple[str, int]]]:
    """Yield, for each layer as often as it was called, its attentions with their calls.

    What holds the layers, as a group of ALBERT's does, may be called several times itself: then
    they all are, one after the other, and again. Otherwise the calls of each follow one another.
    """
    turns = calls.get(stack[0][0].rpartition(".")[0].rpartition(".")[0], 1)
    for turn in range(turns):
        for _, inner in stack:
            each = max((calls[path] // turns for path in inner), default=1)
            for call in range(turn * each, (turn + 1) * each):
                yield [(path, call) for path in inner if call < calls[path]]


def _side(layer: str) -> str:
    parts = layer.split(".")
    # Without "layer.0", or what the list of the layers is called.
    name = ".".join(parts[:-2]) or parts[0]
    return next((part for part in parts if part in _SIDES), name)


def _kinds(
    run: ActivationRun, layer: str, inner: Sequence[str], is_encoder_decoder: bool
) -> Mapping[str, str]:
    """Return what tells the attentions of one layer apart."""
    if len(inner) < 2:
        return dict.fromkeys(inner, "")
    crossing = {path for path in inner if places_of(run, path, is_encoder_decoder)[2]}
    has_both = len(inner) == 2 and len(crossing) == 1
    return {
        path: ("cross" if path in crossing else "self")
        if has_both
        else path.removeprefix(f"{layer}.")
        for path in inner
    }
