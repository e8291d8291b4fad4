"""Where the steps of a check differ the most: given, recomputed, and their difference."""

from bertviewer.charts.tensor_charts import position_text
from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.replay.checked_step import GIVEN, RECOMPUTED, checked_step
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, CheckStep
from bertviewer.core.tensors.values import NamedValues, TensorValues
from bertviewer.core.util.errors import UserError
from bertviewer.report.check_summary import nearness, summarise
from bertviewer.report.looks import ComparedElement
from bertviewer.report.run_looked_at import LookedAt

MOST_STEPS = 5
"""Steps that are carried out once more, each of another class."""


def compared_elements(it: LookedAt) -> tuple[ComparedElement, ...]:
    """Return the worst element of the steps that are the nearest to their tolerance."""
    if it.run.check is None:
        return ()
    found = []
    for step in _nearest(it.run, it.run.check):
        try:
            named = checked_step(it, step, it.progress)
            found.append(_compared(step, named))
        except UserError:
            continue
    return tuple(one for one in found if one is not None)


def _nearest(run: ActivationRun, check: Check) -> tuple[CheckStep, ...]:
    """Return the worst step of each class, the nearest to its tolerance first."""
    worst = (summary.worst for summary in summarise(run, check))
    apart = [step for step in worst if step.max_abs_error != 0 and not _holds_layers(step, run)]
    return tuple(sorted(apart, key=nearness, reverse=True)[:MOST_STEPS])


def _holds_layers(step: CheckStep, run: ActivationRun) -> bool:
    """Return whether a module holds layers: to compute it again takes as long as all of them."""
    start = f"{step.path}." if step.path else ""
    below = (m.path.removeprefix(start) for m in run.modules if m.path.startswith(start))
    return any(part.isdecimal() for path in below for part in path.split("."))


def _compared(step: CheckStep, named: NamedValues) -> ComparedElement | None:
    worst = named.worst
    if worst is None:
        return None
    given, recomputed = (_at(named.interleaved[side], worst.index) for side in (GIVEN, RECOMPUTED))
    place = position_text(worst.index, named.axes)
    return ComparedElement(
        *(step, worst.index, place, given, recomputed, worst.difference, worst.tolerance)
    )


def _at(values: TensorValues, index: tuple[int, ...]) -> float:
    """Return one element."""
    _, width = matrix_shape(values.shape)
    place = 0
    for number, size in zip(index, values.shape, strict=True):
        place = place * size + number
    row, column = divmod(place, width)
    return float(values.block((row, row + 1), (column, column + 1))[0, 0])
