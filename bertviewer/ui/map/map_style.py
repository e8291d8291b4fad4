"""The colours, figures and words of a map, by what is known and what is asked for."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from bertviewer.charts.graph.marks import node_tip
from bertviewer.charts.graph.tints import Tint, Tints
from bertviewer.charts.map.atlas import Atlas
from bertviewer.charts.map.blocks import Block
from bertviewer.charts.map.coloring import Coloring
from bertviewer.charts.map.facts import PartFacts
from bertviewer.charts.map.measures import Measure
from bertviewer.charts.map.part import Part
from bertviewer.charts.map.values import Known, Values
from bertviewer.charts.theme import Theme
from bertviewer.core.schema.flow import Node
from bertviewer.core.util.text import printable
from bertviewer.ui.state.workspace import Workspace


def _no_tints(_part: Part) -> Tints | None:
    return None


def _path(part: Part) -> str:
    return printable(part.path)


def _tip(_part: Part, node: Node) -> str:
    return node_tip(node)


class Dress(Struct, frozen=True):
    """How parts look.

    Attributes:
        tints: a part's nodes in other colours, with figures; ``None`` for the parts' own hues.
        name: what a part is called.
        tip: what is told of a node that is pointed at.
    """

    tints: Callable[[Part], Tints | None] = _no_tints
    name: Callable[[Part], str] = _path
    tip: Callable[[Part, Node], str] = _tip


class Dressing(Struct, frozen=True):
    """What the pieces of the map show.

    Attributes:
        coloring: values as colours.
        facts: words about parts.
        dress: both for the picture.
        tints: for the blocks of the strip.
        tip: what is told of one of them.
    """

    coloring: Coloring
    facts: PartFacts
    dress: Dress
    tints: Mapping[Block, Tint]
    tip: Callable[[Block], str]


def known_of(workspace: Workspace) -> Known:
    """Return what is known of the open model."""
    runs, kept = workspace.runs, workspace.comparison
    run_a = None if runs.watched_a is None else runs.watched_a.run
    other = kept.title if kept.changes else ""
    return Known(runs.run, run_a, dict(runs.checks), kept.changes, other)


def dressing(
    atlas: Atlas, known: Known, measure: Measure, theme: Theme, blocks: Sequence[Block]
) -> Dressing:
    """Return how a model is shown by a measure."""
    values = Values(atlas, known)
    coloring = Coloring(atlas, values, measure, theme)
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
