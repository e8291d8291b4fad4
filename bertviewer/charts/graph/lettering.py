"""Texts that have to fit: cut where they are too long, with a subscript, above a picture."""

from bertviewer.charts.graph.drawing import Label, Letters, Measure, Style
from bertviewer.charts.graph.words import TIMES
from bertviewer.charts.theme import LARGE
from bertviewer.core.schema.flow import Flow

ELLIPSIS = "…"
_DROP = 0.3
"""How far down a subscript is, as a part of its text's size."""
SUBSCRIPT = 0.72
"""How large a subscript is, as a part of its text's size."""
_MOST_TITLE, _LEAST_NAME, _BETWEEN = 900.0, 200.0, 12.0


def cut_in_middle(text: str, room: float, measure: Measure, style: Style, size: float) -> str:
    """Return a text that is no wider than the room: what is left out is in its middle."""
    if measure(text, style, size) <= room:
        return text
    least, most = 0, len(text)
    while least < most:
        kept = (least + most + 1) // 2
        if measure(_cut(text, kept), style, size) <= room:
            least = kept
        else:
            most = kept - 1
    return _cut(text, least)


def _cut(text: str, kept: int) -> str:
    first = (kept + 1) // 2
    return text[:first] + ELLIPSIS + text[len(text) - (kept - first) :]


def named(text: str, subscript: str, x: float, y: float, letters: Letters) -> tuple[Label, ...]:
    """Return a name in the middle of a place, with what stands behind it and lower."""
    size = letters.normal
    low = SUBSCRIPT * size
    if not subscript:
        return (Label(text, x, y, "strong", size),)
    behind = letters.measure(subscript, "strong", low)
    end = x + (letters.measure(text, "strong", size) - behind) / 2
    y_low = y + size * _DROP
    lower = Label(subscript, end, y_low, "strong", low, "start", is_subscript=True)
    return Label(text, x - behind / 2, y, "strong", size), lower


def title_of(
    flow: Flow, measure: Measure, parameters: int | None, room: float
) -> tuple[Label, ...]:
    """Return a title that begins at 0; a path too long is cut in its middle."""
    facts = [flow.class_name] if flow.path else []
    if flow.repeat is not None and flow.repeat.count > 1:
        facts.append(f"{flow.repeat.first}–{flow.repeat.last} are identical")
    if parameters is not None:
        facts.append("1 parameter" if parameters == 1 else f"{parameters:,} parameters")
    shapes = [
        f"[{TIMES.join(map(str, node.shape))}]"
        for kind in ("input", "output")
        for node in [next((each for each in flow.nodes if each.kind == kind), None)]
        if node is not None and node.shape
    ]
    if shapes:
        facts.append(" → ".join(shapes))
    text = " · ".join(facts)
    least = max(room, _MOST_TITLE) - measure(text, "text", LARGE) - _BETWEEN
    name = flow.path or flow.class_name
    name = cut_in_middle(name, max(_LEAST_NAME, least), measure, "strong", LARGE)
    found = [Label(name, 0.0, 0.0, "strong", LARGE, "start")]
    if text:
        x = measure(name, "strong", LARGE) + _BETWEEN
        cut = cut_in_middle(text, max(room, _MOST_TITLE), measure, "text", LARGE)
        found.append(Label(cut, x, 0.0, "text", LARGE, "start", "muted"))
    return tuple(found)
