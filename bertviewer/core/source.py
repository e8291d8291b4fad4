"""What the user asked to open, before anything is read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bertviewer.core.demo import demo_folder
from bertviewer.core.errors import UserError
from bertviewer.core.presets import find_preset, preset_names
from bertviewer.core.tasks import Task, find_task

Kind = Literal["preset", "demo", "folder", "config"]


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model to open: ``path`` is the folder or file behind it, whatever its kind."""

    kind: Kind
    name: str
    path: Path
    task: Task

    @property
    def has_weights(self) -> bool:
        """Whether a checkpoint is there to load."""
        return self.kind in ("demo", "folder") and (self.path / "model.safetensors").is_file()


def parse_source(name: str, task: str = "base") -> ModelSource:
    """Find out what ``name`` means: ``demo``, a preset, a folder or a ``config.json``.

    Raises:
        UserError: it is none of these, or the task is unknown.
    """
    found = find_task(task)
    if name == "demo":
        return ModelSource("demo", name, demo_folder(), found)
    if (preset := find_preset(name)) is not None:
        return ModelSource("preset", name, preset, found)
    if name.startswith("hf://"):
        raise UserError(f"{name}: opening models from the hub is not supported yet")
    try:
        path = Path(name).expanduser()
        if (path / "config.json").is_file():
            _refuse_other_weights(path, name)
            return ModelSource("folder", name, path, found)
        if path.is_dir():
            raise UserError(f"{name}: the folder has no config.json")
        if path.is_file() and path.suffix == ".json":
            return ModelSource("config", name, path, found)
        if path.is_file():
            raise UserError(f"{name}: not a model folder and not a config.json")
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{name!r}: {error}") from error
    raise UserError(
        f"unknown model {name!r}: no file or folder, and no preset "
        f"({', '.join(('demo', *preset_names()))})"
    )


def _refuse_other_weights(folder: Path, name: str) -> None:
    """Refuse a folder whose weights would otherwise silently count as none."""
    if (folder / "model.safetensors").is_file():
        return
    for file in (
        "model.safetensors.index.json",
        "pytorch_model.bin",
        "pytorch_model.bin.index.json",
    ):
        if (folder / file).is_file():
            raise UserError(
                f"{name}: weights in {file} cannot be read yet, only in one model.safetensors; "
                f"open {Path(name) / 'config.json'} to see the architecture"
            )


def default_source_name() -> str:
    """Return the model that opens when none is named: the demo if it is installed."""
    try:
        demo_folder()
    except UserError:
        return "bert-base-uncased"
    return "demo"
