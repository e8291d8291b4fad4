"""Says of runs which model they are of, as far as that is known."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct, ValidationError, field

from bertviewer.core.building.versions import versions
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.saved_runs.run_file import SCHEMA, RunFile, SavedModel
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check_step import Check
from bertviewer.core.sources.demo import SHA256
from bertviewer.core.sources.hub_name import parse_hub_name
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError


class KeptRuns(Struct, frozen=True):
    """What the window has: the last run, run A if there is one, and what was checked.

    ``origin`` is their model where they were read from a file themselves.
    """

    run: ActivationRun
    run_a: ActivationRun | None = None
    comparison: Literal["overlay", "difference"] = "overlay"
    checks: Mapping[str, Check] = field(default_factory=dict)
    origin: SavedModel | None = None


def described(
    source: ModelSource,
    data: Mapping[str, Any] | None,
    checkpoint: Checkpoint | None,
    kept: KeptRuns,
) -> RunFile:
    """Return what a file of these runs holds; ``data`` is what their model was built from.

    Raises:
        UserError: it was not built from a configuration, or a run is too large.
    """
    from bertviewer.core.saved_runs.soundness import check_size  # needs numpy

    for run in filter(None, (kept.run, kept.run_a)):
        try:
            check_size(run)
        except ValidationError as error:
            raise UserError(f"{source.name}: it cannot be saved: {error}") from error
    saved = kept.origin or _saved_model(source, data, checkpoint)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return RunFile(
        SCHEMA, now, versions(), saved, kept.run, kept.run_a, kept.comparison, kept.checks
    )


def _saved_model(
    source: ModelSource, data: Mapping[str, Any] | None, checkpoint: Checkpoint | None
) -> SavedModel:
    if data is None:
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
        sha256={"model.safetensors": SHA256} if source.kind == "demo" else {},
        config=data,
        untied=source.untied,
    )
