"""Several checks of one run as one."""

from collections.abc import Mapping

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.check import Check


def merge_checks(checks: Mapping[str, Check], architecture: Architecture) -> Check | None:
    """Return all checks as one, in the order of the modules; ``None`` without any."""
    if not checks:
        return None
    places = {node.path: place for place, node in enumerate(architecture.modules)}
    steps = {step: None for check in checks.values() for step in check.steps}
    checked = {step.path for step in steps}
    unchecked = {one: None for check in checks.values() for one in check.unchecked}
    return Check(
        tuple(sorted(steps, key=lambda step: places.get(step.path, len(places)))),
        tuple(
            sorted(
                (one for one in unchecked if one.path not in checked),
                key=lambda one: places.get(one.path, len(places)),
            )
        ),
    )
