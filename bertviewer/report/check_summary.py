"""What a check found, in words and by class of module: for the terminal, window and reports."""

from collections.abc import Mapping

from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check, CheckStep
from bertviewer.core.util.numbers import count_text


class ClassSummary(Struct, frozen=True):
    """All steps of one class of module; ``worst`` is the one that is nearest to its tolerance."""

    class_name: str
    steps: int
    failed: int
    worst: CheckStep


def summarise(run: ActivationRun, check: Check) -> tuple[ClassSummary, ...]:
    """Return one summary for each class, in the order in which the classes come up."""
    names = {module.path: module.class_name for module in run.modules}
    classes: dict[str, list[CheckStep]] = {}
    for step in check.steps:
        classes.setdefault(names.get(step.path, ""), []).append(step)
    return tuple(
        ClassSummary(name, len(steps), sum(not step.ok for step in steps), max(steps, key=nearness))
        for name, steps in classes.items()
    )


def reasons(check: Check) -> Mapping[str, int]:
    """Return why modules were not checked, with how many that are."""
    found: dict[str, int] = {}
    for left in check.unchecked:
        found[left.reason] = found.get(left.reason, 0) + 1
    return found


def nearness(step: CheckStep) -> float:
    """Return what part of its tolerance a step deviates by; infinite for what is not a number."""
    if step.max_abs_error is None:
        return float("inf")
    return step.max_abs_error / step.tolerance if step.tolerance else step.max_abs_error


def check_verdict(check: Check) -> str:
    """Return one line that says how the check came out."""
    failed = len(check.failed)
    if not check.steps:
        return "Nothing could be checked."
    if not failed:
        within = "✓ The only step is within its tolerance."
        return count_text(len(check.steps), within, "✓ All {0} steps are within their tolerance.")
    return count_text(
        failed,
        "✗ 1 of {1} steps is outside its tolerance.",
        "✗ {0} of {1} steps are outside their tolerance.",
        len(check.steps),
    )


def other_attention_note(check: Check) -> str:
    """Return what steps named ``(eager)`` or ``(sdpa)`` are, "" if there are none."""
    ways = {
        "eager": "step by step, which exposes the attention weights",
        "sdpa": "fused into one operation",
    }
    found = [way for way in ways if any(f"({way})" in step.step for step in check.steps)]
    return " ".join(
        f"({way}): the attention was run again with the “{way}” implementation of transformers, "
        f"{ways[way]}."
        for way in found
    )
