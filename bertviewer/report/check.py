"""The check of a run as plain data for paper."""

from typing import Any

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.check_step import CheckStep
from bertviewer.core.families.families import kind_of_class
from bertviewer.core.text.numerals import with_minus
from bertviewer.report.check_summary import reasons, summarise
from bertviewer.report.summaries import by_flow_note, check_verdict, deviation

MOST_CROSSES = 20


def check_data(run: ActivationRun) -> dict[str, Any] | None:
    """Return the check's verdict, its summary by kind, one layer step by step, and the crosses.

    ``None`` where the run was not checked.
    """
    check = run.check
    if check is None:
        return None
    layer = next((m.path for m in run.modules if _is_layer(m.class_name) and check.at(m.path)), "")
    return {
        "verdict": check_verdict(check),
        "by_flow": by_flow_note(check),
        "ok": bool(check.steps) and not check.crosses,
        "kinds": [
            [
                summary.kind,
                f"{summary.steps:,}",
                str(summary.crosses),
                _deviation(summary.worst.max_abs_error),
                _deviation(summary.worst.tolerance),
            ]
            for summary in summarise(run, check)
        ],
        "layer": layer,
        "steps": [_row(step) for step in check.at(layer)] if layer else [],
        "crosses": [[step.path, *_row(step)] for step in check.crosses[:MOST_CROSSES]],
        "more_crosses": max(0, len(check.crosses) - MOST_CROSSES),
        "unchecked": [[reason, str(count)] for reason, count in reasons(check).items()],
    }


def _is_layer(class_name: str) -> bool:
    kind = kind_of_class(class_name)
    return kind is not None and kind.role == "layer"


def _row(step: CheckStep) -> list[str]:
    return [
        step.step,
        _deviation(step.max_abs_error),
        _deviation(step.tolerance),
        "✓" if step.ok else "✗",
    ]


def _deviation(value: float | None) -> str:
    """Return a difference as the terminal has it, but with a true minus."""
    return with_minus(deviation(value))
