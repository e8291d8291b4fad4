"""Blocks of the whole model in the order of execution, with all layers side by side."""

from collections.abc import Iterator, Sequence
from graphlib import CycleError

from msgspec import Struct

from bertviewer.charts.graph.node_labels import node_labels
from bertviewer.charts.graph.paths import encoder_subgraph
from bertviewer.charts.graph.side_nodes import split_graph
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.charts.theme import Part
from bertviewer.core.schema.flow import Flow, Node

MAX_SIDE_BY_SIDE = 12
"""More identical layers than this are a deck of narrow cards."""


class Block(Struct, frozen=True):
    """A module of the strip.

    Attributes:
        name: its name: "layer 3".
        part: what it opens into.
        hue: the part of the model that sets its colour.
        node: the id of its node in the graph of the whole model.
        is_layer: it is a layer.
    """

    name: str
    part: Scope
    hue: Part
    node: str
    is_layer: bool = False

    @property
    def path(self) -> str:
        """The path of the module."""
        return self.part.path


class Strip(Struct, frozen=True):
    """A row of blocks; ``name`` is encoder or decoder if there are two."""

    name: str
    blocks: tuple[Block, ...]


def strips_of(flow: Flow) -> tuple[Strip, ...]:
    """Return the strip of the graph of a whole model, or those of its encoder and decoder."""
    hues = {key: label.part for key, label in node_labels(flow).items()}
    graph = split_graph(flow)
    try:
        encoder = encoder_subgraph(graph.main, graph.edges)
    except CycleError:
        encoder = None
    if encoder is None:
        return (Strip("", tuple(_blocks(flow.nodes, hues))),)
    upper = [node for node in flow.nodes if node.id in encoder.keys]
    lower = [node for node in flow.nodes if node.id not in encoder.keys]
    strips = (
        Strip(encoder.name or "encoder", tuple(_blocks(upper, hues))),
        Strip(encoder.rest_name or "decoder", tuple(_blocks(lower, hues))),
    )
    return tuple(strip for strip in strips if strip.blocks)


def block_of(blocks: Sequence[Block], part: Scope) -> Block | None:
    """Return the block that contains a part, ``None`` without any."""
    inside = [block for block in blocks if f"{part.path}.".startswith(f"{block.path}.")]
    same = (block for block in inside if block.part.call == part.call)
    return next(same, inside[0] if inside else None)


def _blocks(nodes: Sequence[Node], hues: dict[str, Part]) -> Iterator[Block]:
    for node in nodes:
        if node.kind != "module" or not node.path:
            continue
        if node.repeat is None:
            yield Block(node.name, Scope(node.path), hues[node.id], node.id, node.is_layer)
            continue
        layers = node.layers
        base = node.name.removesuffix(str(node.repeat.first)).strip()
        # Shared layers have a block for each of their calls.
        is_shared = node.repeat.count > len(layers)
        count, first = (node.repeat.count, 0) if is_shared else (len(layers), node.repeat.first)
        for number in range(count):
            call, layer = divmod(number, len(layers))
            part = Scope(layers[layer], call=call)
            yield Block(f"{base} {first + number}".strip(), part, hues[node.id], node.id, True)
