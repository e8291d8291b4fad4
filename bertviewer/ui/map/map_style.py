"""Colours, numbers and texts of the map for the chosen measure."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from bertviewer.charts.graph.draw_items import NodeColor, NodeColors, node_tooltip
from bertviewer.charts.map.blocks import Block
from bertviewer.charts.map.coloring import MapColoring
from bertviewer.charts.map.facts import PartFacts
from bertviewer.charts.map.part_graphs import PartGraphs, Scope
from bertviewer.charts.map.values import MapData, MapMeasure, MapValues
from bertviewer.charts.theme import Theme
from bertviewer.core.schema.flow import Node
from bertviewer.core.util.text import printable
from bertviewer.ui.state.workspace import Workspace


class NodeStyle(Struct, frozen=True):
    """How nodes are drawn.

    Attributes:
        colors: the colours and numbers of a part's nodes, ``None`` for the colours of the parts.
        name: the name of a part.
        tooltip: the tooltip of a node.
    """

    colors: Callable[[Scope], NodeColors | None] = lambda _scope: None
    name: Callable[[Scope], str] = lambda scope: printable(scope.path)
    tooltip: Callable[[Scope, Node], str] = lambda _scope, node: node_tooltip(node)


class MapStyle(Struct, frozen=True):
    """How the whole map is drawn.

    Attributes:
        coloring: maps values to colours.
        facts: texts about parts.
        nodes: the style of nodes.
        blocks: the colours and numbers of the strip's blocks.
        block_tooltip: the tooltip of a block.
    """

    coloring: MapColoring
    facts: PartFacts
    nodes: NodeStyle
    blocks: Mapping[Block, NodeColor]
    block_tooltip: Callable[[Block], str]


def map_data(workspace: Workspace) -> MapData:
    """Return what the map can show: runs, checks, and changes between models."""
    runs, comparison = workspace.runs, workspace.comparison
    baseline = None if runs.baseline is None else runs.baseline.run
    other = comparison.title if comparison.changes else ""
    return MapData(runs.run, baseline, dict(runs.checks), comparison.changes, other)


def map_style(
    graphs: PartGraphs, data: MapData, measure: MapMeasure, theme: Theme, blocks: Sequence[Block]
) -> MapStyle:
    """Return the style for a measure."""
    values = MapValues(graphs, data)
    coloring, facts = MapColoring(graphs, values, measure, theme), PartFacts(graphs, values)
    calls: dict[str, int] = {}
    for block in blocks:
        calls[block.path] = max(calls.get(block.path, 0), block.part.call + 1)
    colors = {block: coloring.block(block, calls[block.path]) for block in blocks}

    def block_tooltip(block: Block) -> str:
        figure = colors[block].figure if block in colors else ""
        lines = (block.name, block.path, facts.line(block.part), figure)
        return "\n".join(dict.fromkeys(line for line in lines if line))

    nodes = NodeStyle(coloring.node_colors, facts.name, facts.tip)
    return MapStyle(coloring, facts, nodes, colors, block_tooltip)
