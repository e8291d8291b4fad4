"""The line above a picture: what it shows, how large that is, what goes in and out."""

from bertviewer.charts.flow.drawing import LARGE, Label, Measure
from bertviewer.charts.flow.lettering import cut_in_middle
from bertviewer.charts.flow.words import TIMES
from bertviewer.core.architecture.flow import Flow

_MOST_TITLE, _LEAST_NAME, _BETWEEN = 900.0, 200.0, 12.0


def title_of(
    flow: Flow, measure: Measure, parameters: int | None, room: float
) -> tuple[Label, ...]:
    """Return a title that begins at 0; a path too long is cut in its middle."""
    facts = [flow.class_name] if flow.path else []
    if flow.repeat is not None and flow.repeat.count > 1:
        facts.append(f"{flow.repeat.first} to {flow.repeat.last} are equal")
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
