"""The walk through a model and its count by groups, as data for the page."""

from typing import Any

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.walk.building import build_walk
from bertviewer.core.walk.groups import group_counts, relations_text, teacher_relations
from bertviewer.core.walk.walk import WalkPart, WalkShape, WalkStep


def walk_data(architecture: Architecture, run: ActivationRun | None) -> dict[str, Any]:
    """Return both tables, ready for JSON."""
    walk = build_walk(architecture, run)
    groups = group_counts(walk, architecture, teacher_relations(architecture.symbols))
    return {
        "parts": [_part(part) for part in walk.parts],
        "trainable": f"{walk.trainable:,}",
        "reconciles": walk.reconciles,
        "relations": relations_text(groups.relations),
        "groups": [
            {
                "title": group.title,
                "lines": list(group.lines),
                "result": f"{group.result:,}",
            }
            for group in groups.groups
        ],
        "total": f"{groups.total:,}",
        "tensors": groups.tensors,
        "groups_reconcile": groups.reconciles,
    }


def _part(part: WalkPart) -> dict[str, Any]:
    times = ""
    if part.times > 1:
        times = f"{part.letters} = {part.times}" if part.letters else str(part.times)
    return {
        "title": part.title,
        "times": times,
        "is_planned": part.is_planned,
        "trainable": f"{part.trainable:,}",
        "reconciles": part.reconciles,
        "steps": [_step(step) for step in part.steps],
    }


def _step(step: WalkStep) -> dict[str, Any]:
    return {
        "number": str(step.number),
        "name": step.name,
        "path": step.path,
        "input": _shape(step.input_shape),
        "output": _shape(step.output_shape),
        "symbols": readable(step.count.symbols),
        "numbers": readable(step.count.numbers),
        "values": step.values,
        "trainable": "" if step.is_input else f"{step.count.trainable:,}",
    }


def _shape(shape: WalkShape | None) -> list[str]:
    """Return the shape in letters, and in numbers if that says more."""
    if shape is None:
        return []
    return list(dict.fromkeys((readable(shape.text), readable(shape.numbers))))
