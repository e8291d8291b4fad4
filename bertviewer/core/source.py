"""What the user asked to open, before anything is read."""

from dataclasses import dataclass
from os.path import lexists
from pathlib import Path
from typing import Literal

from bertviewer.core.demo import demo_folder
from bertviewer.core.errors import UserError
from bertviewer.core.hub.name import SCHEME, parse_hub_name
from bertviewer.core.presets import find_preset, preset_names
from bertviewer.core.tasks import Task, find_task
from bertviewer.core.weights.finding import SUFFIX, has_checkpoint

Kind = Literal["preset", "demo", "folder", "config", "weights", "pickle", "hub"]

PICKLE_SUFFIX = ".bin"
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model to open.

    Attributes:
        kind: what ``path`` is. ``folder`` has a configuration and perhaps safetensors files;
            ``weights`` is one safetensors file, ``pickle`` a .bin file, its index, or a folder
            with no other weights; ``hub`` a folder of the hub's cache,
            and nothing yet before the model is opened.
        name: as the user wrote it.
        path: the folder or file behind it.
        task: the head that is asked for.
        pickle_allowed: whether the user agreed to read a pickle.
    """

    kind: Kind
    name: str
    path: Path
    task: Task
    pickle_allowed: bool = False

    @property
    def folder(self) -> Path:
        """The folder that holds what lies beside the model, as its tokenizer does."""
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def config_file(self) -> Path | None:
        """The file of the configuration, ``None`` if weights stand alone."""
        if self.kind in ("preset", "config"):
            return self.path
        file = self.folder / "config.json"
        # Whatever is there under this name is the configuration, and told if it is none.
        return file if lexists(file) or self.kind not in ("weights", "pickle") else None

    @property
    def has_weights(self) -> bool:
        """Whether a checkpoint is there to load, which may still be bad."""
        if self.kind == "pickle":
            return self.pickle_allowed
        return self.kind not in ("preset", "config") and has_checkpoint(self.path)


def parse_source(name: str, task: str = "base") -> ModelSource:
    """Find out what ``name`` means: ``demo``, a preset, a folder or a file.

    Raises:
        UserError: it is none of these, or the task is unknown.
    """
    found = find_task(task)
    if not name.strip():
        raise UserError("the model's name is empty")
    if name == "demo":
        return ModelSource("demo", name, demo_folder(), found)
    if (preset := find_preset(name)) is not None:
        return ModelSource("preset", name, preset, found)
    if name.startswith(SCHEME):
        parse_hub_name(name)
        return ModelSource("hub", name, Path(), found)
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            return ModelSource(_folder_kind(path, name), name, path, found)
        if path.is_file():
            return ModelSource(_file_kind(path, name), name, path, found)
        if lexists(path):
            raise UserError(f"{name}: neither a file nor a folder")
    except (OSError, ValueError, RuntimeError) as error:
        cause = (isinstance(error, OSError) and error.strerror) or error
        raise UserError(f"{name!r}: {cause}") from error
    raise UserError(
        f"unknown model {name!r}: no file or folder, and no preset "
        f"({', '.join(('demo', *preset_names()))})"
    )


def _folder_kind(folder: Path, name: str) -> Kind:
    has_config = lexists(folder / "config.json")
    if has_checkpoint(folder):
        return "folder" if has_config else "weights"
    if any(lexists(folder / pickle) for pickle in PICKLES):
        return "pickle"
    if not has_config:
        raise UserError(f"{name}: the folder has no config.json and no weights")
    return "folder"


def _file_kind(file: Path, name: str) -> Kind:
    if file.suffix == SUFFIX:
        return "weights"
    if file.suffix == PICKLE_SUFFIX or file.name in PICKLES:
        return "pickle"
    if file.suffix == ".json":
        return "config"
    raise UserError(f"{name}: not a model folder, and neither a config.json nor weights")


def default_source_name() -> str:
    """Return the model that opens when none is named: the demo if it is installed."""
    try:
        demo_folder()
    except UserError:
        return "bert-base-uncased"
    return "demo"
