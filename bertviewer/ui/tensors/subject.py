"""What can be looked into: a parameter, a tensor of a run, or a step of a check."""

from collections.abc import Callable, Hashable
from functools import partial

from msgspec import Struct

from bertviewer.core.analysis.heads import HeadLayout, head_layout, recorded_heads
from bertviewer.core.schema.activation_run import ModuleTensor
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.tensors.axes import TokenIndex
from bertviewer.core.tensors.values import NamedValues
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.jobs.requests import ModelWork
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.tensors import jobs

Shape = tuple[int, ...]

SIDES = {
    "input": QT_TRANSLATE_NOOP("Subject", "input {0}"),
    "output": QT_TRANSLATE_NOOP("Subject", "output {0}"),
}


class Subject(Struct, frozen=True, eq=False):
    """How a tensor is told from others, and how its values are found.

    Attributes:
        key: what tells it from others.
        title: what it is called in a few words.
        name: the same in full.
        find: has the worker find its values; ``None`` comes of a model without weights.
        heads: how heads lie in a tensor of its shape.
        rows: has the worker find which tokens its rows are, where that takes longer.
        watched: the run that it is of, ``None`` for a parameter.
    """

    key: Hashable
    title: str
    name: str
    find: ModelWork[NamedValues | None]
    heads: Callable[[Shape], HeadLayout | None]
    rows: ModelWork[TokenIndex] | None = None
    watched: RecordedRun | None = None


def of_parameter(tensor: TensorInfo, architecture: Architecture) -> Subject:
    """Return a parameter as something to look into."""
    return Subject(
        tensor.name,
        ".".join(tensor.name.split(".")[-2:]),
        tensor.name,
        partial(jobs.tensor_values_job, tensor.name),
        lambda _: head_layout(architecture, tensor),
        partial(jobs.token_rows_job, tensor),
    )


def of_run(
    seen: ModuleTensor, watched: RecordedRun, path: str, call: int, architecture: Architecture
) -> Subject:
    """Return what a module took or gave in a call as something to look into."""
    is_output = seen.key.side == "output"
    title = translate("Subject", SIDES[seen.key.side]).format(seen.key.name)
    if seen.key.name.partition(".")[0] == ("output" if is_output else "input"):
        title = seen.key.name  # rather than "output output"
    return Subject(
        (watched, path, call, seen.key),
        title,
        f"{path or architecture.root.class_name}: {title}",
        partial(jobs.seen_values_job, watched, path, call, seen.key),
        lambda shape: recorded_heads(architecture, path, shape, is_output=is_output),
        watched=watched,
    )


def of_step(step: CheckStep, watched: RecordedRun, architecture: Architecture) -> Subject:
    """Return what a step of a check compared as something to look into."""
    return Subject(
        (watched, step),
        translate("Subject", "verified: {0}").format(step.step),
        f"{step.path or architecture.root.class_name}: {step.step}",
        partial(jobs.checked_step_job, watched, step),
        lambda shape: recorded_heads(architecture, step.path, shape, is_output=True),
        watched=watched,
    )
