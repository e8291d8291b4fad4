"""What a check found: plain data, free of torch."""

from typing import Literal

from bertviewer.core.frozen import frozen
from bertviewer.core.plain_data import Document

Proof = Literal["formula", "flow"]


@frozen
class CheckStep(Document):
    """One comparison: what a module gave, and the same recomputed in float64.

    ``step`` says what of the module at ``path`` is compared. ``max_abs_error`` is the largest
    difference, ``None`` where there is none to give: shapes differ, or NaN and Inf stand in
    different places. ``tolerance`` is what rounding may do. ``proof`` says what was recomputed: the
    module's own formula, or the flow of a clean instance of the model, operation by operation.
    """

    path: str
    step: str
    max_abs_error: float | None
    tolerance: float
    ok: bool
    proof: Proof = "formula"


@frozen
class Unchecked:
    """A module that was called and not checked, and why, in plain words."""

    path: str
    reason: str


@frozen
class Check:
    """The steps that were checked, in the order of ``named_modules()``, and what was not."""

    steps: tuple[CheckStep, ...]
    unchecked: tuple[Unchecked, ...] = ()

    @property
    def by_flow(self) -> int:
        """How many steps were proven by the flow."""
        return sum(step.proof == "flow" for step in self.steps)

    @property
    def crosses(self) -> tuple[CheckStep, ...]:
        """The steps that failed."""
        return tuple(step for step in self.steps if not step.ok)

    def at(self, path: str) -> tuple[CheckStep, ...]:
        """Return the steps of the module at ``path``."""
        return tuple(step for step in self.steps if step.path == path)
