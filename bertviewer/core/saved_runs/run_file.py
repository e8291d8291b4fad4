"""What a file of runs holds: plain data, free of torch."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check_step import Check

SCHEMA: Literal["bertviewer.runs/1"] = "bertviewer.runs/1"


class SavedModel(Struct, frozen=True, forbid_unknown_fields=True):
    """Which model it was, as far as that is known, and what it is built from.

    Attributes:
        kind: what was opened, as ``ModelSource`` has it.
        name: by which it was opened.
        task: its head.
        revision: the commit of a model of the hub.
        files: the sizes of its files of weights, in bytes, by name.
        sha256: the digests that were compared when it was opened, by the name of a file.
        config: its configuration.
        untied: the parameters that its class ties, and its checkpoint does not.
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
    """Runs of one model.

    Attributes:
        schema: what stands in ``SCHEMA``.
        saved: when it was written, as ISO 8601 has it.
        versions: of this program and the libraries that ran it.
        model: the model.
        run: the last run.
        run_a: run A, if one was kept.
        comparison: how the two were compared.
        checks: what was checked of the last run, by the path that was asked for.
    """

    schema: Literal["bertviewer.runs/1"]
    saved: str
    versions: Mapping[str, str]
    model: SavedModel
    run: ActivationRun
    run_a: ActivationRun | None
    comparison: Literal["overlay", "difference"]
    checks: Mapping[str, Check]
