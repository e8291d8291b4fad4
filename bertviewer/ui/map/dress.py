"""What a picture of parts is told from outside: colours, names, and what is said of nodes."""

from collections.abc import Callable

from bertviewer.charts.flow.marks import node_tip
from bertviewer.charts.flow.tints import Tints
from bertviewer.charts.map.part import Part
from bertviewer.core.architecture.flow import Node
from bertviewer.core.frozen import frozen
from bertviewer.core.text.plain_text import printable


def _no_tints(_part: Part) -> Tints | None:
    return None


def _path(part: Part) -> str:
    return printable(part.path)


def _tip(_part: Part, node: Node) -> str:
    return node_tip(node)


@frozen
class Dress:
    """How parts look.

    Attributes:
        tints: a part's nodes in other colours, with figures; ``None`` for the parts' own hues.
        name: what a part is called.
        tip: what is told of a node that is pointed at.
    """

    tints: Callable[[Part], Tints | None] = _no_tints
    name: Callable[[Part], str] = _path
    tip: Callable[[Part, Node], str] = _tip
