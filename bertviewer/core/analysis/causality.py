"""Which way attention looks: whether a token sees those that come after it.

What decides is the forward pass of the model's own code, as its flow has it: the mask that reached
the softmax, or ``is_causal``. A configuration may say otherwise (ALBERT does not read its
``is_decoder``), and most decoders have no key for it.
"""

from collections.abc import Iterator

from msgspec import Struct

from bertviewer.core.analysis.attention_places import is_cross
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flows, Node


def is_causal(architecture: Architecture, path: str = "") -> bool | None:
    """Return whether no token sees a later one in the self-attention at ``path`` or below it.

    A single layer in which tokens see later ones makes it ``False``. Of several stacks, as an
    encoder's and a decoder's, or a tower for images before the text's layers, the last one that
    reads text counts. A module that is not in the flow, such as BigBird's block-sparse attention,
    which the model replaces during its forward pass, is as the module around it.

    Returns:
        ``None`` where no self-attention was traced: before the flows are derived, where they
        could not be, and in models that have none.
    """
    flows = architecture.flows
    if flows is None:
        return None
    traced: dict[str, tuple[Node, ...]] = {}
    found: list[_Attention] = []
    for module in architecture.modules:
        if not _is_within(module.path, path) or is_cross(module.path):
            continue
        first = flows.like.get(module.path, module.path)
        if first not in traced:
            traced[first] = tuple(_attentions(flows, first))
        if nodes := traced[first]:
            hides = any(node.details.get("causal") is True for node in nodes)
            reads_text = any(_reads_text(node, flows) for node in nodes)
            found.append(_Attention(_stack(module.path), reads_text, hides))
    is_called = path in flows.distinct or path in flows.like
    if not found and path and not is_called and not is_cross(path):
        return is_causal(architecture, path.rpartition(".")[0])
    found = [one for one in found if one.reads_text] or found
    # A pooler may have attention too, outside of the numbered layers.
    found = [one for one in found if one.stack] or found
    return all(one.hides for one in found if one.stack == found[-1].stack) if found else None


class _Attention(Struct, frozen=True):
    """A traced attention: the list of layers it is in, what it reads, whether it is causal."""

    stack: str
    reads_text: bool
    hides: bool


def _is_within(path: str, whole: str) -> bool:
    return not whole or path == whole or path.startswith(f"{whole}.")


def _attentions(flows: Flows, path: str) -> Iterator[Node]:
    flow = flows.distinct.get(path)
    if flow is not None:
        # A module around it may be drawn with the attention in it.
        yield from (
            node for node in flow.all_nodes() if node.operation == "attention" and node.path == path
        )


def _reads_text(node: Node, flows: Flows) -> bool:
    return any(flows.lengths.get(name) in node.shape for name in ("S", "S_d"))


def _stack(path: str) -> str:
    """Return the path of the list of layers that a module is in, "" if it is in none."""
    parts = path.split(".")
    place = next((n for n, part in enumerate(parts) if part.isdecimal()), 0)
    return ".".join(parts[:place])
