"""Playback of a walkthrough on the map: the part and the nodes to show at each step."""

from msgspec import Struct

from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.core.walkthrough.walkthrough import SEGMENT_IDS, Step, Walkthrough


class PlaybackStop(Struct, frozen=True):
    """A step on the map.

    Attributes:
        step: the step of the walkthrough.
        title: the title of its section.
        part: the part of the model to open.
        keys: the ids of the nodes of the step, if the drawing has any.
    """

    step: Step
    title: str
    part: Scope
    keys: tuple[str, ...]


def playback_stops(walkthrough: Walkthrough, graphs: PartGraphs) -> tuple[PlaybackStop, ...]:
    """Return the stops of a walkthrough in order."""
    found: list[PlaybackStop] = []
    part = WHOLE
    for section in walkthrough.sections:
        for step in section.steps:
            part, keys = _place(step, graphs, part)
            found.append(PlaybackStop(step, section.title, part, keys))
    return tuple(found)


def _place(step: Step, graphs: PartGraphs, before: Scope) -> tuple[Scope, tuple[str, ...]]:
    """Return the part and the nodes of a step; without any, the part before."""
    if step.flow is not None and step.nodes:
        part = Scope(step.flow)
        if graphs.flow(part) is not None:
            known = {node.id for node in graphs.nodes(part)}
            return part, tuple(key for key in step.nodes if key in known)
    if step.path is not None:
        part = graphs.way(step.path)[-1]
        if keys := graphs.shown(part, step.path):
            return part, keys
    if not step.is_input:
        return before, ()
    # Inputs of segment ids are named token_type_ids.
    is_segment = step.name == SEGMENT_IDS
    inputs = (node for node in graphs.nodes(WHOLE) if node.kind == "input")
    found = (node.id for node in inputs if ("type" in node.name) == is_segment)
    return WHOLE, tuple(found)[:1]
