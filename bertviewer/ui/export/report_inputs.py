"""What the window knows of the open model and its runs when a report is wished for."""

from typing import TYPE_CHECKING

from msgspec import Struct

from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.check import Check, merge_checks
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.report.layers import layer_count
from bertviewer.report.subject import STATISTIC
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.state.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.comparison.comparison import Comparison


class Material(Struct, frozen=True, eq=False):
    """All that a report can tell of, as the window has it.

    Attributes:
        source: where the model came from.
        architecture: as it is shown.
        keys: how its checkpoint fits it.
        watched: the last run.
        watched_a: run A, if another run is kept to be compared.
        check: all that was checked of the last run.
        checked: the modules that this was asked for.
        comparison: the model beside another one, while that is looked at.
        statistic: the one that is drawn layer by layer.
    """

    source: ModelSource
    architecture: Architecture
    keys: LoadReport | None
    watched: RecordedRun | None
    watched_a: RecordedRun | None
    check: Check | None
    checked: tuple[str, ...]
    comparison: "Comparison | None"
    statistic: str

    @property
    def run(self) -> ActivationRun | None:
        """The last run."""
        return None if self.watched is None else self.watched.run

    @property
    def run_a(self) -> ActivationRun | None:
        """Run A."""
        return None if self.watched_a is None else self.watched_a.run

    @property
    def title(self) -> str:
        """What a report is called that nobody gave a title to."""
        source = self.architecture.source if self.run is None else self.run.source
        return source.name

    @property
    def is_from_file(self) -> bool:
        """Whether the last run was read from a file, so that there is no closer look at it."""
        return self.watched is not None and self.watched.capture is None


def material_of(workspace: Workspace, statistic: str | None) -> Material:
    """Gather it; there must be an open model."""
    source, architecture = workspace.source, workspace.architecture
    assert source is not None
    assert architecture is not None
    runs = workspace.runs
    run_a = runs.baseline
    is_other = run_a is not None and run_a is not runs.current
    return Material(
        source=source,
        architecture=architecture,
        keys=workspace.keys,
        watched=runs.current,
        watched_a=run_a if is_other else None,
        check=merge_checks(runs.checks, architecture) or (runs.run.check if runs.run else None),
        checked=tuple(runs.checks),
        comparison=workspace.comparison.comparison,
        statistic=statistic or STATISTIC,
    )


def layers_of(material: Material) -> int:
    """Return how many layers can be shown whole."""
    if material.run is None or material.is_from_file:
        return 0
    return layer_count(material.architecture, material.run)
