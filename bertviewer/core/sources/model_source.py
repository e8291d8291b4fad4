"""What the user asked to open, before anything is read."""

from os.path import lexists
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import has_checkpoint
from bertviewer.core.checkpoints.keys import LoadReport
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.tasks import Task

Kind = Literal["preset", "demo", "folder", "config", "weights", "pickle", "hub", "runs"]


class ModelSource(Struct, frozen=True):
    """A model to open.

    Attributes:
        kind: what ``path`` is. ``folder`` has a configuration and perhaps safetensors files;
            ``weights`` is one safetensors file, ``pickle`` a .bin, .pt, .pth or .ckpt file, an
            index, or a folder with no other weights; ``hub`` a folder of the hub's cache, and
            nothing yet before the model is opened; ``runs`` a file of saved runs, which has their
            model's configuration.
        name: as the user wrote it.
        path: the folder or file behind it.
        task: the head that is asked for.
        pickle_allowed: whether the user agreed to read a pickle.
        offload: whether its weights are to be read layer by layer, even if all fit into memory.
        untied: the parameters that the model class ties to another one, while the checkpoint
            stores other values for them; found out when the model is opened.
        notices: sentences that qualify every figure of the model, likewise.
    """

    kind: Kind
    name: str
    path: Path
    task: Task
    pickle_allowed: bool = False
    offload: bool = False
    untied: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def is_same_model(self, other: "ModelSource | None") -> bool:
        """Tell whether another source is this model, whatever their heads."""
        if other is None:
            return False
        found = replace(other, task=self.task, untied=self.untied, notices=self.notices)
        return found == self

    @property
    def folder(self) -> Path:
        """The folder that holds what lies beside the model, as its tokenizer does."""
        # A model's folder may be gone by now, and is still no file of the one above it.
        is_folder = self.kind in ("folder", "demo") or self.path.is_dir()
        return self.path if is_folder else self.path.parent

    @property
    def config_file(self) -> Path | None:
        """The file of the configuration, ``None`` if weights stand alone."""
        if self.kind in ("preset", "config"):
            return self.path
        if self.kind == "runs":
            return None
        file = self.folder / "config.json"
        # Whatever is there under this name is the configuration, and told if it is none.
        return file if lexists(file) or self.kind not in ("weights", "pickle") else None

    @property
    def has_weights(self) -> bool:
        """Whether a checkpoint is there to load, which may still be bad."""
        if self.kind == "pickle":
            return self.pickle_allowed
        return self.kind not in ("preset", "config", "runs") and has_checkpoint(self.path)

    def info(self, keys: LoadReport | None) -> SourceInfo:
        """Return what an architecture says of its source before weights are read.

        ``keys`` is how a checkpoint fits the model, ``None`` for a model without weights.
        """
        return SourceInfo(
            kind=self.kind,
            name=self.name,
            task=self.task.name,
            weights="none" if keys is None else "pretrained",
            random_tensors=() if keys is None else keys.missing,
            offloaded=self.offload and keys is not None,
            notices=self.notices,
        )
