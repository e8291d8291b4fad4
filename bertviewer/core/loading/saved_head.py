"""The head that a checkpoint was saved with, which the task ``auto`` selects."""

from collections.abc import Mapping
from typing import Any

from bertviewer.core.building.backend import transformers
from bertviewer.core.building.building import build_config, build_on_meta, classes_of
from bertviewer.core.checkpoints.stored import Checkpoint
from bertviewer.core.loading.matching import match
from bertviewer.core.sources.tasks import BASE, Task
from bertviewer.core.util.errors import UserError

_OTHERS_FIRST = "pretraining"
"""Classes have several tasks; this one is chosen only if no other has the class."""


def saved_head(data: Mapping[str, Any], name: str, checkpoint: Checkpoint) -> tuple[Task, str]:
    """Return the task whose class ``architectures`` names, if the checkpoint has its tensors.

    Otherwise it is the base model, with a sentence that says why; the sentence is empty where the
    base model itself is named.

    Raises:
        UserError: the configuration is bad, or the model cannot be built.
    """
    named = architecture_of(data)
    config = build_config(data, name)
    kinds = {task: kind.__name__ for task, kind in classes_of(config)}
    tasks = [task for task, kind in kinds.items() if kind == named]
    if BASE in tasks or not named:
        return BASE, ""
    shown = f"{kinds.get(BASE, 'the base model')} is shown without a head."
    if not tasks:
        return BASE, (
            f"config.json names {named}, which is not one of the heads that can be opened for "
            f"model type {config.model_type!r}: {shown}"
        )
    task = min(tasks, key=lambda task: task.name == _OTHERS_FIRST)
    try:
        module: Any = build_on_meta(config, task, name)
        missing = match(module, checkpoint).missing
    except UserError as error:
        why = str(error).partition(": ")[2] or str(error)
        return (
            BASE,
            f"config.json names {named}, which does not fit the checkpoint ({why}): {shown}",
        )
    of_base: set[str] = set()
    if missing and BASE in kinds:
        base = dict(build_on_meta(config, BASE, name).named_parameters())
        of_base = {*base, *(f"{module.base_model_prefix}.{one}" for one in base)}
    lacking = [one for one in missing if one not in of_base]
    if not lacking:
        return task, ""
    return BASE, (
        f"config.json names {named}, but the checkpoint lacks tensors of that head "
        f"({lacking[0]}): {shown}"
    )


def named_type(data: Mapping[str, Any]) -> str:
    """Return the model type of the class that ``architectures`` names, "" if it names none."""
    named, tables = architecture_of(data), vars(transformers.models.auto.modeling_auto)
    return next(
        (
            model_type
            for name, table in tables.items()
            if name.endswith("_MAPPING_NAMES")
            for model_type, kinds in table.items()
            if named in ((kinds,) if isinstance(kinds, str) else kinds)
        ),
        "",
    )


def architecture_of(data: Mapping[str, Any]) -> str:
    """Return the class that a configuration says its model was saved from, "" if it names none."""
    names = data.get("architectures")
    first = names[0] if isinstance(names, list) and names else ""
    return first if isinstance(first, str) and first.isidentifier() else ""
