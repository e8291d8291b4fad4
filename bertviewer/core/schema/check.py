"""The result of a check: each module's outputs compared with a float64 recomputation."""

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.serialization import Document

Proof = Literal["reference", "formula", "flow"]
"""What was recomputed; the last two occur in runs that earlier versions saved."""


class CheckStep(Document, frozen=True, forbid_unknown_fields=True):
    """One comparison: what a module computed, and the same recomputed in float64.

    Attributes:
        path: the module.
        step: which of its tensors or heads is compared.
        max_abs_error: the largest difference; ``None`` if there is none, because shapes differ or
            NaN and Inf are in different places.
        tolerance: the effect of rounding.
        ok: whether the error is within the tolerance.
        proof: what it was compared with: a reference instance of the model, built from its
            configuration.
    """

    path: str
    step: str
    max_abs_error: float | None
    tolerance: float
    ok: bool
    proof: Proof = "reference"

    @property
    def relative_error(self) -> float:
        """The error as a fraction of the tolerance; infinite if there is no largest difference."""
        if self.max_abs_error is None:
            return float("inf")
        return self.max_abs_error / self.tolerance if self.tolerance else self.max_abs_error


class Unchecked(Struct, frozen=True, forbid_unknown_fields=True):
    """A module that was called and not checked, and the reason for the user."""

    path: str
    reason: str


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps that were checked, in the order of ``named_modules()``, and what was not."""

    steps: tuple[CheckStep, ...]
    unchecked: tuple[Unchecked, ...] = ()

    @property
    def failed(self) -> tuple[CheckStep, ...]:
        """The steps that failed."""
        return tuple(step for step in self.steps if not step.ok)

    def at(self, path: str) -> tuple[CheckStep, ...]:
        """Return the steps of the module at ``path``."""
        return tuple(step for step in self.steps if step.path == path)

    @property
    def unchecked_reasons(self) -> Mapping[str, int]:
        """Why modules were not checked, with the number of modules."""
        return Counter(each.reason for each in self.unchecked)

    @property
    def verdict(self) -> str:
        """The result in one line."""
        if not self.steps:
            return "Nothing could be checked."
        if not self.failed:
            one = "✓ The only step is within its tolerance."
            return count_text(len(self.steps), one, "✓ All {0} steps are within their tolerance.")
        return count_text(
            len(self.failed),
            "✗ 1 of {1} steps is outside its tolerance.",
            "✗ {0} of {1} steps are outside their tolerance.",
            len(self.steps),
        )

    @property
    def attention_note(self) -> str:
        """An explanation of steps named ``(eager)`` or ``(sdpa)``, "" if there are none."""
        found = [name for name in _ATTENTION if any(f"({name})" in s.step for s in self.steps)]
        return " ".join(
            f"({name}): the attention was run again with the “{name}” implementation of "
            f"transformers, {_ATTENTION[name]}."
            for name in found
        )


_ATTENTION = {
    "eager": "step by step, which exposes the attention weights",
    "sdpa": "fused into one operation",
}


class CheckSummary(Struct, frozen=True):
    """All steps of one class of module; ``worst`` is the one closest to its tolerance."""

    class_name: str
    steps: int
    failed: int
    worst: CheckStep


def check_summaries(check: Check, class_names: Mapping[str, str]) -> tuple[CheckSummary, ...]:
    """Summarise a check by class of module, in order; ``class_names`` are by path."""
    classes: dict[str, list[CheckStep]] = {}
    for step in check.steps:
        classes.setdefault(class_names.get(step.path, ""), []).append(step)
    return tuple(
        CheckSummary(
            name,
            len(steps),
            sum(not step.ok for step in steps),
            max(steps, key=lambda step: step.relative_error),
        )
        for name, steps in classes.items()
    )


def merge_checks(checks: Mapping[str, Check], architecture: Architecture) -> Check | None:
    """Merge the checks of one run, ordered by module; ``None`` without any.

    A step that several of them have is kept once, and a module is unchecked if all left it out.
    """
    if not checks:
        return None
    places = {node.path: place for place, node in enumerate(architecture.modules)}

    def place(one: CheckStep | Unchecked) -> int:
        return places.get(one.path, len(places))

    steps = dict.fromkeys(step for check in checks.values() for step in check.steps)
    checked = {step.path for step in steps}
    unchecked = dict.fromkeys(
        one for check in checks.values() for one in check.unchecked if one.path not in checked
    )
    return Check(tuple(sorted(steps, key=place)), tuple(sorted(unchecked, key=place)))
