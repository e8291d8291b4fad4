"""A flow that is too much for a picture, as a list."""

from math import ceil

from bertviewer.charts.graph.drawing import Label, Measure, Picture, Placed, Rect
from bertviewer.charts.graph.lettering import cut_in_middle
from bertviewer.charts.graph.words import TIMES, words_of
from bertviewer.charts.theme import SMALL
from bertviewer.core.schema.flow import Flow

_ROW, _LISTED_GAP, _MOST_WIDE = 20.0, 32.0, 420.0
_READING = "Each operation lists the numbers of its inputs."


def listed(flow: Flow, measure: Measure, room: float, reason: str) -> Picture:
    """Return all nodes as a list: each with the numbers of those that it reads, and its shape."""
    numbers = {node.id: number for number, node in enumerate(flow.nodes)}
    reads: dict[str, list[int]] = {}
    for edge in flow.edges:
        if edge.source in numbers:
            reads.setdefault(edge.target, []).append(numbers[edge.source])
    words = words_of(flow)
    texts = []
    for node in flow.nodes:
        taken = ", ".join(map(str, reads.get(node.id, ())))
        shape = f"  [{TIMES.join(map(str, node.shape))}]" if node.shape else ""
        name = f"{words[node.id].title}({taken})" if taken else words[node.id].title
        texts.append(f"{numbers[node.id]:>3}  {name}{shape}")
    widest = min(_MOST_WIDE, max(measure(text, "mono", SMALL) for text in texts)) if texts else 0.0
    across = max(1, int((room + _LISTED_GAP) // (widest + _LISTED_GAP)))
    down = ceil(len(texts) / across)
    placed = []
    for number, (node, text) in enumerate(zip(flow.nodes, texts, strict=True)):
        x = number // down * (widest + _LISTED_GAP)
        rect = Rect(x, number % down * _ROW, widest, _ROW)
        cut = cut_in_middle(text, widest, measure, "mono", SMALL)
        label = Label(cut, x, rect.y + _ROW / 2, "mono", SMALL, "start")
        placed.append(Placed(node, "list", words[node.id].part, rect, (label,)))
    if not flow.nodes:
        return Picture((), ())
    label = Label(f"{reason} {_READING}", 0, -16.0, "caption", SMALL, "start", "muted")
    return Picture(placed, (), (label,))
