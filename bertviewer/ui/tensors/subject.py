"""A tensor that can be inspected: a parameter, an input or output, or a step of a check."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from bertviewer.core.analysis.heads import HeadLayout, head_layout, recorded_heads
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ModuleTensor, TensorKey
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.tensors.axes import TokenIndex
from bertviewer.core.tensors.parameters import tensor_values, token_rows
from bertviewer.core.tensors.values import NamedValues
from bertviewer.core.util import libraries
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.job_queue import ModelWork
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

Listed = TensorInfo | ModuleTensor | CheckStep
"""What a row of the list is about."""

Preference = str | TensorKey | CheckStep | None
"""The tensor to show in every module: a parameter's name in its module, a key, or a step."""

SIDES = {
    "input": QT_TRANSLATE_NOOP("Subject", "input {0}"),
    "output": QT_TRANSLATE_NOOP("Subject", "output {0}"),
}


class Subject(Struct, frozen=True, eq=False):
    """How a tensor is named, and how its values are found.

    Attributes:
        key: identifies it.
        title: its short name.
        name: its full name.
        find: job that finds its values; it returns ``None`` for a model without weights.
        heads: returns how heads are laid out in a tensor of that shape.
        rows: job that finds the tokens of its rows, where that takes longer.
        recorded: its run, ``None`` for a parameter.
    """

    key: Hashable
    title: str
    name: str
    find: ModelWork[NamedValues | None]
    heads: Callable[[tuple[int, ...]], HeadLayout | None]
    rows: ModelWork[TokenIndex] | None = None
    recorded: RecordedRun | None = None


def parameter_subject(tensor: TensorInfo, architecture: Architecture) -> Subject:
    """Return a parameter as a subject."""
    return Subject(
        tensor.name,
        ".".join(tensor.name.split(".")[-2:]),
        tensor.name,
        partial(_parameter_values, tensor.name),
        lambda _: head_layout(architecture, tensor),
        partial(_token_rows, tensor),
    )


def run_subject(
    tensor: ModuleTensor, recorded: RecordedRun, path: str, call: int, architecture: Architecture
) -> Subject:
    """Return an input or output of a call of the module at ``path`` as a subject."""
    side = tensor.key.side
    title = translate("Subject", SIDES[side]).format(tensor.key.name)
    if tensor.key.name.partition(".")[0] == side:
        title = tensor.key.name  # not "output output"
    return Subject(
        (recorded, path, call, tensor.key),
        title,
        f"{path or architecture.root.class_name}: {title}",
        partial(_recorded_values, recorded, path, call, tensor.key),
        lambda shape: recorded_heads(architecture, path, shape, is_output=side == "output"),
        recorded=recorded,
    )


def step_subject(step: CheckStep, recorded: RecordedRun, architecture: Architecture) -> Subject:
    """Return the tensors compared by a step of a check as a subject."""
    return Subject(
        (recorded, step),
        translate("Subject", "verified: {0}").format(step.step),
        f"{step.path or architecture.root.class_name}: {step.step}",
        partial(_checked_values, recorded, step),
        lambda shape: recorded_heads(architecture, step.path, shape, is_output=True),
        recorded=recorded,
    )


def preference_for(listed: Listed, prefix: str) -> Preference:
    """Return the preference for a tensor; ``prefix`` is the start of the parameters' names."""
    if isinstance(listed, TensorInfo):
        return listed.name.removeprefix(prefix)
    return listed.key if isinstance(listed, ModuleTensor) else listed


def preferred_row(preference: Preference, rows: Sequence[Listed | None], prefix: str) -> int | None:
    """Return the row of the preferred tensor, ``None`` if there is none.

    If no input or output has the preferred name, it is the first of the same side.
    """
    fallback = None
    for number, row in enumerate(rows):
        match row, preference:
            case CheckStep(step=step), CheckStep(step=preferred) if step == preferred:
                return number
            case ModuleTensor(key=key), TensorKey() if key == preference:
                return number
            case ModuleTensor(key=key), TensorKey(side=side) if key.side == side:
                fallback = number if fallback is None else fallback
            case TensorInfo(name=name), str() if name == f"{prefix}{preference}":
                return number
    return fallback


def _parameter_values(name: str, model: "LoadedModel", progress: Progress) -> NamedValues | None:
    values = tensor_values(model, name, progress)
    if values is None:
        return None
    weights = "random" if values.origin.is_random else "pretrained"
    metadata = {"model": model.source.name, "tensor": name, "weights": weights}
    return NamedValues(values, metadata=metadata)


def _token_rows(tensor: TensorInfo, model: "LoadedModel", progress: Progress) -> TokenIndex:
    libraries.load(progress)
    return token_rows(model, tensor, progress)


# Replaying imports torch, which the worker does when it is needed.


def _recorded_values(  # noqa: PLR0917
    recorded: RecordedRun,
    path: str,
    call: int,
    key: TensorKey,
    model: "LoadedModel",
    progress: Progress,
) -> NamedValues:
    from bertviewer.core.replay.module_tensors import values_of

    return values_of(recorded.cached(model), path, key, progress, call=call)


def _checked_values(
    recorded: RecordedRun, step: CheckStep, model: "LoadedModel", progress: Progress
) -> NamedValues:
    from bertviewer.core.replay.checked_step import checked_step

    return checked_step(recorded.cached(model), step, progress)
