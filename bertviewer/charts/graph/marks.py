"""A drawing as lines, filled shapes and texts with their colours: all that a painter must know."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import Drawing, Label, Placed
from bertviewer.charts.graph.shapes import Shape, line_shapes, node_shapes
from bertviewer.charts.graph.tints import Tints, tinted_theme, with_figure
from bertviewer.charts.theme import Theme
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.flow import Edge, Node


class Text(Struct, frozen=True):
    """A text with its colour, and that of nothing else."""

    label: Label
    color: str


class Mark(Struct, frozen=True):
    """What belongs together: a node or an edge, with what is told where one points at it."""

    kind: str
    key: str
    tip: str
    shapes: tuple[Shape, ...]
    texts: tuple[Text, ...] = ()


def marks_of(drawing: Drawing, theme: Theme, tints: Tints | None = None) -> Iterator[Mark]:
    """Yield all marks of a drawing, what is behind first; with ``tints`` in other colours."""
    order = ("side", "data", "residual")
    for line in sorted(drawing.lines, key=lambda each: order.index(each.weight)):
        key = f"{line.edge.source} {line.edge.target}"
        yield Mark("edge", key, edge_tip(line.edge), tuple(line_shapes(line, theme)))
    for placed in drawing.nodes:
        yield _node_mark(placed, theme, tints or {}, has_figures=not drawing.is_brief)
    rest = (*drawing.title, *drawing.labels)
    yield Mark("text", "", "", (), tuple(Text(each, _plain_ink(each, theme)) for each in rest))


def _node_mark(placed: Placed, theme: Theme, tints: Tints, *, has_figures: bool) -> Mark:
    tint = tints.get(placed.node.id)
    if tint is None:
        shapes = tuple(node_shapes(placed, theme))
    else:
        placed = with_figure(placed, tint.figure if has_figures else "")
        # What is part of nothing would have no fill.
        filled = replace(placed, part="attention") if placed.part == "plain" else placed
        shapes = tuple(node_shapes(filled, tinted_theme(theme, tint), is_measured=True))
    texts = tuple(Text(label, _ink(label, placed, theme)) for label in placed.labels)
    return Mark("node", placed.node.id, node_tip(placed.node), shapes, texts)


def node_tip(node: Node) -> str:
    """Return what is told of a node beside its name."""
    facts = [node.path or node.name]
    if node.repeat is not None:
        facts[0] += f" ({node.repeat.first} to {node.repeat.last})"
    facts += [text for text in (node.class_name, node.operation) if text]
    if node.shape:
        facts.append(shape_text(node.shape))
    if node.symbolic_shape:
        facts.append(shape_text(node.symbolic_shape))
    if node.macs:
        facts.append(f"{node.macs:,} multiply-adds")
    return "\n".join(facts)


def edge_tip(edge: Edge) -> str:
    """Return what is told of an edge."""
    shapes = " = ".join(shape_text(shape) for shape in (edge.shape, edge.symbolic_shape) if shape)
    facts = (edge.role or "", shapes, ", ".join(edge.views))
    return "\n".join(fact for fact in facts if fact)


def _ink(label: Label, placed: Placed, theme: Theme) -> str:
    return theme.parts[placed.part] if label.ink == "part" else _plain_ink(label, theme)


def _plain_ink(label: Label, theme: Theme) -> str:
    return theme.text if label.ink == "text" else theme.muted
