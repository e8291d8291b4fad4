"""What a check found: plain data, free of torch."""

from typing import Literal

from msgspec import Struct

from bertviewer.core.util.serialization import Document

Proof = Literal["reference", "formula", "flow"]
"""What was recomputed: the last two are in runs that earlier versions saved."""


class CheckStep(Document, frozen=True, forbid_unknown_fields=True):
    """One comparison: what a module computed, and the same recomputed in float64.

    ``step`` says what of the module at ``path`` is compared. ``max_abs_error`` is the largest
    difference, ``None`` if there is none: shapes differ, or NaN and Inf are in different places.
    ``tolerance`` is the effect of rounding. ``proof`` says what it was compared with: a reference
    instance of the model, built from its configuration.
    """

    path: str
    step: str
    max_abs_error: float | None
    tolerance: float
    ok: bool
    proof: Proof = "reference"


class Unchecked(Struct, frozen=True, forbid_unknown_fields=True):
    """A module that was called and not checked, and why, in plain words."""

    path: str
    reason: str


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps that were checked, in the order of ``named_modules()``, and what was not."""

    steps: tuple[CheckStep, ...]
    unchecked: tuple[Unchecked, ...] = ()

    @property
    def crosses(self) -> tuple[CheckStep, ...]:
        """The steps that failed."""
        return tuple(step for step in self.steps if not step.ok)

    def at(self, path: str) -> tuple[CheckStep, ...]:
        """Return the steps of the module at ``path``."""
        return tuple(step for step in self.steps if step.path == path)
