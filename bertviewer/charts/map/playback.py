"""A walkthrough on the map of a model: the flow to open at each step, and the nodes to mark."""

from msgspec import Struct

from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.core.walkthrough.walkthrough import SEGMENT_IDS, Step, Walkthrough


class PlaybackStop(Struct, frozen=True):
    """A step on the map.

    Attributes:
        step: the step of the walkthrough.
        title: the title of its section.
        part: the part of the model to open.
        keys: the nodes in it that the step consists of; none where the drawing has none.
    """

    step: Step
    title: str
    part: Scope
    keys: tuple[str, ...]


def playback_stops(walkthrough: Walkthrough, atlas: PartGraphs) -> tuple[PlaybackStop, ...]:
    """Return the stops of a walkthrough, in order."""
    found: list[PlaybackStop] = []
    before = WHOLE
    for section in walkthrough.sections:
        for step in section.steps:
            stop = _stop(step, section.title, atlas, before)
            found.append(stop)
            before = stop.part
    return tuple(found)


def _stop(step: Step, title: str, atlas: PartGraphs, before: Scope) -> PlaybackStop:
    if step.flow is not None and step.nodes:
        part = Scope(step.flow)
        flow = atlas.flow(part)
        if flow is not None:
            known = {node.id for node in flow.nodes}
            return PlaybackStop(step, title, part, tuple(key for key in step.nodes if key in known))
    if step.path is not None:
        part = atlas.way(step.path)[-1]
        keys = atlas.shown(part, step.path)
        if keys:
            return PlaybackStop(step, title, part, keys)
    if step.is_input:
        return PlaybackStop(step, title, WHOLE, _input(step, atlas))
    return PlaybackStop(step, title, before, ())


def _input(step: Step, atlas: PartGraphs) -> tuple[str, ...]:
    """Return the input of the whole model that a step is."""
    flow = atlas.flow(WHOLE)
    inputs = [node for node in flow.nodes if node.kind == "input"] if flow is not None else []
    is_segment = step.name == SEGMENT_IDS
    for node in inputs:
        if ("type" in node.name) == is_segment:
            return (node.id,)
    return ()
