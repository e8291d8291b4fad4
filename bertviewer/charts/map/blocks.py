"""The whole model as blocks in the order of execution, equal layers side by side."""

from collections.abc import Iterator, Sequence
from graphlib import CycleError

from msgspec import Struct

from bertviewer.charts.graph.node_labels import node_labels
from bertviewer.charts.graph.paths import encoder_subgraph
from bertviewer.charts.graph.side_nodes import split_graph
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.charts.theme import Part as Hue
from bertviewer.core.schema.flow import Flow, Node

MAX_SIDE_BY_SIDE = 12
"""More equal layers than these are a deck of narrow cards, through which one goes."""


class Block(Struct, frozen=True):
    """A module of the strip.

    Attributes:
        name: what it is called: ``layer 3``.
        part: what it opens into.
        hue: the part of a model that its colour tells.
        node: the node of the whole model's flow that shows it.
        is_layer: it is one of the layers.
    """

    name: str
    part: Scope
    hue: Hue
    node: str
    is_layer: bool = False

    @property
    def path(self) -> str:
        """The module."""
        return self.part.path


class Strip(Struct, frozen=True):
    """Blocks one behind the other; ``name`` tells the encoder's from the decoder's."""

    name: str
    blocks: tuple[Block, ...]


def strips_of(flow: Flow) -> tuple[Strip, ...]:
    """Return the strips of a whole model's flow: one, or the encoder's and the decoder's."""
    words = node_labels(flow)
    hues = {key: each.part for key, each in words.items()}
    parts = split_graph(flow)
    try:
        tower = encoder_subgraph(parts.main, parts.edges)
    except CycleError:
        tower = None
    if tower is None:
        return (Strip("", tuple(_blocks(flow.nodes, hues))),)
    # What hangs beside a node stands in no strip of its own: it goes with the second one.
    upper = [node for node in flow.nodes if node.id in tower.keys]
    lower = [node for node in flow.nodes if node.id not in tower.keys]
    strips = (
        Strip(tower.name or "encoder", tuple(_blocks(upper, hues))),
        Strip(tower.rest_name or "decoder", tuple(_blocks(lower, hues))),
    )
    return tuple(strip for strip in strips if strip.blocks)


def block_of(blocks: Sequence[Block], part: Scope) -> Block | None:
    """Return the block in which a part is, ``None`` if it is in none of them."""
    inside = [
        block
        for block in blocks
        if part.path == block.path or part.path.startswith(f"{block.path}.")
    ]
    same = (block for block in inside if block.part.call == part.call)
    return next(same, inside[0] if inside else None)


def _blocks(nodes: Sequence[Node], hues: dict[str, Hue]) -> Iterator[Block]:
    for node in nodes:
        if node.kind != "module" or not node.path:
            continue
        layers = node.layers
        if node.repeat is None:
            yield Block(node.name, Scope(node.path), hues[node.id], node.id, node.is_layer)
            continue
        base = node.name.removesuffix(str(node.repeat.first)).strip()
        if node.repeat.count > len(layers):
            # A shared layer stands once for each of its calls.
            for call in range(node.repeat.count):
                path = layers[call % len(layers)]
                part = Scope(path, call=call // len(layers))
                yield Block(f"{base} {call}".strip(), part, hues[node.id], node.id, True)
            continue
        for number, path in enumerate(layers, node.repeat.first):
            yield Block(f"{base} {number}".strip(), Scope(path), hues[node.id], node.id, True)
