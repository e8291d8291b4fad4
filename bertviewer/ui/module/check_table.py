"""The steps of a check as a table."""

from collections.abc import Sequence

from bertviewer.core.schema.check import CheckStep
from bertviewer.core.util.numbers import with_minus
from bertviewer.report.numbers import deviation
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.tables import Column, Row, TableModel


class CheckTableModel(TableModel):
    """One row a step; a cross is told by a sign, by words, and by colour."""

    def __init__(self) -> None:
        super().__init__(())
        self._columns = (
            Column(self.tr("Step")),
            Column(self.tr("Max |Δ|"), is_number=True),
            Column(self.tr("Tolerance"), is_number=True),
            Column(self.tr("Result")),
        )
        self._steps: tuple[CheckStep, ...] = ()

    def set_steps(self, steps: Sequence[CheckStep], path: str) -> None:
        """Show other steps; those of modules below ``path`` are named with their way from it."""
        self._steps = tuple(steps)
        self.set_rows(
            [
                Row(
                    (
                        _name(step, path),
                        with_minus(deviation(step.max_abs_error)),
                        with_minus(deviation(step.tolerance)),
                        self.tr("✓ equal") if step.ok else self.tr("✗ different"),
                    ),
                    hint=step.path,
                    is_bold=not step.ok,
                    path=None if step.path == path else step.path,
                    is_link=step.path != path,
                    color=None if step.ok else WARNING,
                )
                for step in steps
            ]
        )

    def step(self, row: int) -> CheckStep | None:
        """Return the step of a row, ``None`` if there is no such row."""
        return self._steps[self.number(row)] if 0 <= row < len(self._steps) else None


def _name(step: CheckStep, path: str) -> str:
    if step.path == path:
        return step.step
    below = step.path.removeprefix(f"{path}.") if path else step.path
    return f"{below}: {step.step}"
