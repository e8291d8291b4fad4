"""The colours, figures and words of a map, by what is known and what is asked for."""

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


def _no_tints(_part: Scope) -> NodeColors | None:
    return None


def _path(part: Scope) -> str:
    return printable(part.path)


def _tip(_part: Scope, node: Node) -> str:
    return node_tooltip(node)


class Dress(Struct, frozen=True):
    """How parts look.

    Attributes:
        tints: a part's nodes in other colours, with figures; ``None`` for the parts' own hues.
        name: what a part is called.
        tip: what is told of a node that is pointed at.
    """

    tints: Callable[[Scope], NodeColors | None] = _no_tints
    name: Callable[[Scope], str] = _path
    tip: Callable[[Scope, Node], str] = _tip


class Dressing(Struct, frozen=True):
    """What the pieces of the map show.

    Attributes:
        coloring: values as colours.
        facts: words about parts.
        dress: both for the picture.
        tints: for the blocks of the strip.
        tip: what is told of one of them.
    """

    coloring: MapColoring
    facts: PartFacts
    dress: Dress
    tints: Mapping[Block, NodeColor]
    tip: Callable[[Block], str]


def known_of(workspace: Workspace) -> MapData:
    """Return what is known of the open model."""
    runs, kept = workspace.runs, workspace.comparison
    run_a = None if runs.watched_a is None else runs.watched_a.run
    other = kept.title if kept.changes else ""
    return MapData(runs.run, run_a, dict(runs.checks), kept.changes, other)


def dressing(
    atlas: PartGraphs, known: MapData, measure: MapMeasure, theme: Theme, blocks: Sequence[Block]
) -> Dressing:
    """Return how a model is shown by a measure."""
    values = MapValues(atlas, known)
    coloring = MapColoring(atlas, values, measure, theme)
    facts = PartFacts(atlas, values)
    calls: dict[str, int] = {}
    for block in blocks:
        calls[block.path] = max(calls.get(block.path, 0), block.part.call + 1)
    tints = {block: coloring.block(block, calls[block.path]) for block in blocks}

    def tip(block: Block) -> str:
        figure = tints[block].figure if block in tints else ""
        lines = (block.name, block.path, facts.line(block.part), figure)
        return "\n".join(dict.fromkeys(line for line in lines if line))

    return Dressing(coloring, facts, Dress(coloring.tints, facts.name, facts.tip), tints, tip)
