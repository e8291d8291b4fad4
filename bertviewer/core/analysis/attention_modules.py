"""Attention modules: where they are, which tokens they read, and whether they are causal."""

from collections.abc import Iterator

from msgspec import Struct

from bertviewer.core.analysis.layers import layer_list, outermost_layer
from bertviewer.core.analysis.tokens import positions_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flows, Node
from bertviewer.core.schema.modules import ModuleNode, ancestors
from bertviewer.core.sources.families import is_cross_attention

Positions = tuple[int, ...]


def is_attention(node: ModuleNode) -> bool:
    """Return whether a module is an attention, or a block with its projection, residual and norm.

    All families have "Attention" in the names of these classes.
    """
    return "Attention" in node.class_name


def attention_paths(architecture: Architecture) -> tuple[str, ...]:
    """Return the innermost attention modules, in order: their probabilities can be shown.

    ``BertSelfAttention`` is one; ``BertAttention`` around it is not.
    """
    paths = [node.path for node in architecture.modules if is_attention(node)]
    around = {above for path in paths for above in ancestors(path) if above != path}
    return tuple(path for path in paths if path not in around)


def attentions_at(architecture: Architecture, path: str) -> tuple[str, ...]:
    """Return the attentions that belong to a selected module.

    That is the attention that it is or lies in; else those in it; else those of the smallest part
    of its layer that has some. Modules outside of layers have none.
    """
    every = attention_paths(architecture)
    for above in ancestors(path):
        if above in every:
            return (above,)
    if (layer := outermost_layer(path)) is None:
        return ()
    for above in ancestors(path):
        if found := tuple(other for other in every if other.startswith(f"{above}.")):
            return found
        if above == layer:
            break
    return ()


def attention_tokens(
    run: ActivationRun, path: str, is_encoder_decoder: bool
) -> tuple[Positions, Positions, bool]:
    """Return the positions of an attention's queries and keys among the run's tokens.

    The third value is whether they belong to two texts: in a decoder's cross-attention.
    """
    if not is_encoder_decoder:
        every = tuple(range(len(run.tokens)))
        return every, every, False
    source, target = positions_of(run, 0), positions_of(run, 1)
    parts = path.split(".")
    if next((part for part in parts if part in ("encoder", "decoder")), "") != "decoder":
        return source, source, False
    is_cross = is_cross_attention(path)
    return target, (source if is_cross else target), is_cross


class _Traced(Struct, frozen=True):
    """A traced attention: its list of layers, whether it reads text, whether it is causal."""

    stack: str
    reads_text: bool
    is_causal: bool


def is_causal(architecture: Architecture, path: str = "") -> bool | None:
    """Return whether no token sees a later one in the self-attention at or below ``path``.

    This is read from the traced forward pass: the mask that reached the softmax, or ``is_causal``.
    Configurations are unreliable (ALBERT ignores ``is_decoder``), and most decoders have no key.

    One layer in which tokens see later ones makes it ``False``. Of several stacks (encoder and
    decoder, or an image tower before the text's layers), the last one that reads text counts. A
    module outside of the graph, such as BigBird's block-sparse attention, which is replaced during
    the forward pass, is like the module around it.

    Returns:
        ``None`` where no self-attention was traced: before the graphs are derived, where they
        could not be, and in models without attention.
    """
    flows = architecture.flows
    if flows is None:
        return None
    nodes: dict[str, tuple[Node, ...]] = {}
    found: list[_Traced] = []
    for module in architecture.modules:
        is_inside = not path or f"{module.path}.".startswith(f"{path}.")
        if not is_inside or is_cross_attention(module.path):
            continue
        first = flows.like.get(module.path, module.path)
        if first not in nodes:
            nodes[first] = tuple(_attention_nodes(flows, first))
        if nodes[first]:
            sizes = {flows.lengths.get(name) for name in ("S", "S_d")}
            reads_text = any(not sizes.isdisjoint(node.shape) for node in nodes[first])
            hides = any(node.details.get("causal") is True for node in nodes[first])
            found.append(_Traced(layer_list(module.path), reads_text, hides))
    is_called = path in flows.distinct or path in flows.like
    if not found and path and not is_called and not is_cross_attention(path):
        return is_causal(architecture, path.rpartition(".")[0])
    found = [one for one in found if one.reads_text] or found
    # A pooler may have attention too, outside of the numbered layers.
    found = [one for one in found if one.stack] or found
    return all(one.is_causal for one in found if one.stack == found[-1].stack) if found else None


def _attention_nodes(flows: Flows, path: str) -> Iterator[Node]:
    """Yield a module's own attention nodes, not those of modules around or inside of it."""
    flow = flows.distinct.get(path)
    if flow is not None:
        for node in flow.all_nodes():
            if node.operation == "attention" and node.path == path:
                yield node
