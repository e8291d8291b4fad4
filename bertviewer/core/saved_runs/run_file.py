"""The content of a saved run's file as plain data: the runs, and the model that they belong to."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct, ValidationError, field

from bertviewer.core.building.versions import versions
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check
from bertviewer.core.sources.model_source import ModelSource, parse_hub_name
from bertviewer.core.sources.presets import DEMO_SHA256
from bertviewer.core.util.errors import UserError

SCHEMA: Literal["bertviewer.runs/1"] = "bertviewer.runs/1"
MAX_TOKENS = 10_000
"""The cosine similarities of all pairs of so many tokens take 0.8 GB."""
MAX_STATES = 2_000
"""Twice as many layers as a configuration may have."""
MAX_COSINES = 4_000_000_000
"""Pairs of tokens in all hidden states; a report takes minutes for so many."""

ComparisonMode = Literal["overlay", "difference"]


class SavedModel(Struct, frozen=True, forbid_unknown_fields=True):
    """The model of saved runs.

    Attributes:
        kind: of its source, as in ``ModelSource``.
        name: as it was opened.
        task: its head.
        revision: the commit of a model of the Hub.
        files: the sizes of its weight files in bytes, by name.
        sha256: the digests that were verified when it was opened, by file name.
        config: its configuration.
        untied: parameters that its class ties and its checkpoint does not.
    """

    kind: str
    name: str
    task: str
    revision: str | None
    files: Mapping[str, int]
    sha256: Mapping[str, str]
    config: Mapping[str, Any]
    untied: tuple[str, ...] = ()


class RunFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Saved runs of one model.

    Attributes:
        schema: ``SCHEMA``.
        saved: the time of writing, ISO 8601.
        versions: of this program and its libraries.
        model: the model.
        run: the last run.
        baseline: the baseline, if there was one.
        comparison: how the two were compared.
        checks: the checks of the last run, by the path that was checked.
    """

    schema: Literal["bertviewer.runs/1"]
    saved: str
    versions: Mapping[str, str]
    model: SavedModel
    run: ActivationRun
    baseline: ActivationRun | None = field(name="run_a")
    comparison: ComparisonMode
    checks: Mapping[str, Check]

    @property
    def runs(self) -> tuple[ActivationRun, ...]:
        """The run, and the baseline if there is one."""
        return (self.run,) if self.baseline is None else (self.run, self.baseline)


class RunsToSave(Struct, frozen=True):
    """The runs and checks to save; ``origin`` is their model if they were read from a file."""

    run: ActivationRun
    baseline: ActivationRun | None = None
    comparison: ComparisonMode = "overlay"
    checks: Mapping[str, Check] = field(default_factory=dict)
    origin: SavedModel | None = None


def check_size(run: ActivationRun) -> None:
    """Check that a run is small enough for everything that is computed from it.

    Raises:
        ValidationError: it is not.
    """
    count, states = len(run.tokens), max(len(run.hidden_states), len(run.token_norms))
    if count > MAX_TOKENS or states > MAX_STATES or count**2 * states > MAX_COSINES:
        raise ValidationError(
            f"its run has {count:,} tokens in {states:,} hidden states, which is too much"
        )


def create_run_file(
    source: ModelSource,
    config: Mapping[str, Any] | None,
    checkpoint: Checkpoint | None,
    runs: RunsToSave,
) -> RunFile:
    """Return the content of a file for runs of the open model.

    Raises:
        UserError: the model was not built from a configuration, or a run is too large.
    """
    for run in filter(None, (runs.run, runs.baseline)):
        try:
            check_size(run)
        except ValidationError as error:
            raise UserError(f"{source.name}: it cannot be saved: {error}") from error
    saved = runs.origin or _saved_model(source, config, checkpoint)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return RunFile(
        SCHEMA, now, versions(), saved, runs.run, runs.baseline, runs.comparison, runs.checks
    )


def _saved_model(
    source: ModelSource, config: Mapping[str, Any] | None, checkpoint: Checkpoint | None
) -> SavedModel:
    if config is None:
        raise UserError(
            f"{source.name}: its configuration is not known, so its runs cannot be saved"
        )
    files = () if checkpoint is None else checkpoint.files
    return SavedModel(
        kind=source.kind,
        name=source.name,
        task=source.task.name,
        revision=parse_hub_name(source.name).revision if source.kind == "hub" else None,
        files={file.own.name: file.nbytes for file in files},
        sha256={"model.safetensors": DEMO_SHA256} if source.kind == "demo" else {},
        config=config,
        untied=source.untied,
    )
