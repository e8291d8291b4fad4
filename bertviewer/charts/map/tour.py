"""A walk through a model as places on its map: what to open at each step, and what to mark."""

from bertviewer.charts.map.atlas import WHOLE, Atlas
from bertviewer.charts.map.part import Part
from bertviewer.core.frozen import frozen
from bertviewer.core.walk.naming import SEGMENT_IDS
from bertviewer.core.walk.walk import Walk, WalkStep


@frozen
class Stop:
    """A step of a walk on the map.

    Attributes:
        step: what is done.
        title: the part of the walk that it is in.
        part: what to open.
        keys: the nodes in it that do the step; none where the drawing has none.
    """

    step: WalkStep
    title: str
    part: Part
    keys: tuple[str, ...]


def tour_of(walk: Walk, atlas: Atlas) -> tuple[Stop, ...]:
    """Return the stops of a walk, in order."""
    found: list[Stop] = []
    before = WHOLE
    for part in walk.parts:
        for step in part.steps:
            stop = _stop(step, part.title, atlas, before)
            found.append(stop)
            before = stop.part
    return tuple(found)


def _stop(step: WalkStep, title: str, atlas: Atlas, before: Part) -> Stop:
    if step.flow is not None and step.nodes:
        part = Part(step.flow)
        flow = atlas.flow(part)
        if flow is not None:
            known = {node.id for node in flow.nodes}
            return Stop(step, title, part, tuple(key for key in step.nodes if key in known))
    if step.path is not None:
        part = atlas.way(step.path)[-1]
        keys = atlas.shown(part, step.path)
        if keys:
            return Stop(step, title, part, keys)
    if step.is_input:
        return Stop(step, title, WHOLE, _input(step, atlas))
    return Stop(step, title, before, ())


def _input(step: WalkStep, atlas: Atlas) -> tuple[str, ...]:
    """Return the input of the whole model that a step is."""
    flow = atlas.flow(WHOLE)
    inputs = [node for node in flow.nodes if node.kind == "input"] if flow is not None else []
    is_segment = step.name == SEGMENT_IDS
    for node in inputs:
        if ("type" in node.name) == is_segment:
            return (node.id,)
    return ()
