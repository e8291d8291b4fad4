"""Parsing the name of a model: the demo, a preset, a Hub model, a folder or a file."""

from os.path import lexists
from pathlib import Path

from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import (
    PICKLE_SUFFIXES,
    PICKLED_WEIGHTS,
    SAFETENSORS_SUFFIX,
    has_checkpoint,
    pickle_in,
)
from bertviewer.core.sources.model_folder import model_folder, no_model_error, unsupported_advice
from bertviewer.core.sources.model_source import (
    AUTO,
    BASE,
    CONFIG,
    SCHEME,
    Kind,
    ModelSource,
    Task,
    find_task,
    parse_hub_name,
)
from bertviewer.core.sources.presets import demo_folder, find_preset, preset_names
from bertviewer.core.util.errors import UserError, error_reason

RUNS_SUFFIX = ".bertviewer"


def parse_source(name: str, task: str = AUTO.name) -> ModelSource:
    """Return the source that ``name`` means: ``demo``, a preset, a Hub model, a folder or a file.

    The task ``auto`` becomes ``base`` for a source without weights.

    Raises:
        UserError: there is no such source, or the task is unknown.
    """
    source = _parsed(name, find_task(task))
    has_weights = source.kind in ("folder", "weights", "pickle", "hub")
    return source if source.task != AUTO or has_weights else replace(source, task=BASE)


def _parsed(name: str, task: Task) -> ModelSource:
    if not name.strip():
        raise UserError("the model name is empty")
    if name == "demo":
        return ModelSource("demo", name, demo_folder(), task)
    if (preset := find_preset(name)) is not None:
        return ModelSource("preset", name, preset, task)
    if name.startswith(SCHEME):
        parse_hub_name(name)
        return ModelSource("hub", name, Path(), task)
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            folder = model_folder(path)
            return ModelSource(_folder_kind(folder, name), name, folder, task)
        if path.is_file():
            return ModelSource(_file_kind(path, name), name, path, task)
        if lexists(path):
            raise UserError(f"{name}: neither a file nor a folder")
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{name!r}: {error_reason(error)}") from error
    raise UserError(
        f"unknown model {name!r}: no file or folder, and no preset "
        f"({', '.join(('demo', *preset_names()))})"
    )


def _folder_kind(folder: Path, name: str) -> Kind:
    has_config = lexists(folder / CONFIG)
    if has_checkpoint(folder):
        return "folder" if has_config else "weights"
    if pickle_in(folder) is not None:
        return "pickle"
    if not has_config:
        raise no_model_error(folder, name)
    return "folder"


def _file_kind(file: Path, name: str) -> Kind:
    if file.suffix == SAFETENSORS_SUFFIX:
        return "weights"
    if file.suffix in PICKLE_SUFFIXES or file.name in PICKLED_WEIGHTS:
        return "pickle"
    if file.name.endswith(".safetensors.index.json"):
        raise UserError(f"{name}: an index of several weight files; open its folder")
    if file.suffix == ".json":
        return "config"
    if file.suffix == RUNS_SUFFIX:
        return "runs"
    if why := unsupported_advice(file.name):
        raise UserError(f"{name}: {why}")
    raise UserError(f"{name}: not a model folder, a config.json or a weight file")
