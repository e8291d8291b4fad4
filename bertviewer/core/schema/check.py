"""The result of a check: each module's outputs compared with a float64 recomputation."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
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
