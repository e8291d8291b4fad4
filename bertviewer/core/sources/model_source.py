"""The model that the user asked to open: kind, name, path and task head."""

import re
from os.path import lexists
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.checkpoints.finding import has_checkpoint
from bertviewer.core.checkpoints.load_report import LoadReport
from bertviewer.core.schema.sentence_pooling import SentencePooling
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.errors import UserError


class Task(Struct, frozen=True):
    """A head that a model can be opened with.

    Attributes:
        name: its name on the command line.
        auto_class: the transformers class that builds it.
        title: its name in the window.
        variant: another such class, for families that ``auto_class`` does not support and for
            configurations whose ``architectures`` has one of its classes.
    """

    name: str
    auto_class: str
    title: str
    variant: str = ""


AUTO = Task("auto", "", "As saved")
"""The head that a checkpoint was saved with; replaced by one of ``TASKS`` on opening."""

TASKS = (
    Task("base", "AutoModel", "Base model, no head", "AutoModelForTextEncoding"),
    Task("masked-lm", "AutoModelForMaskedLM", "Masked language modelling"),
    Task("causal-lm", "AutoModelForCausalLM", "Causal language modelling"),
    Task(
        "sequence-classification", "AutoModelForSequenceClassification", "Sequence classification"
    ),
    Task("pretraining", "AutoModelForPreTraining", "Pretraining", "AutoModelForSeq2SeqLM"),
    Task("token-classification", "AutoModelForTokenClassification", "Token classification"),
    Task("question-answering", "AutoModelForQuestionAnswering", "Question answering"),
    Task("next-sentence", "AutoModelForNextSentencePrediction", "Next sentence prediction"),
)


BASE = TASKS[0]
TASK_NAMES = tuple(task.name for task in (AUTO, *TASKS))
"""Names that are accepted on the command line."""


def find_task(name: str) -> Task:
    """Return the task of that name, ``AUTO`` included.

    Raises:
        UserError: there is none.
    """
    for task in (AUTO, *TASKS):
        if task.name == name:
            return task
    raise UserError(f"unknown task {name!r}; choose one of: {', '.join(TASK_NAMES)}")


CONFIG = "config.json"
SCHEME = "hf://"

# The Hub's rules: letters, digits, "-", "_" and ".", at most 96 characters.
_PART = r"[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?"
_REPO = re.compile(rf"(?:{_PART}/)?{_PART}", re.ASCII)
_REVISION = re.compile(r"[\w][\w./+-]{0,199}", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


class HubName(Struct, frozen=True):
    """A model on the Hub: ``repo`` is ``org/name``; ``revision`` a branch, tag or commit."""

    repo: str
    revision: str = "main"

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a full commit hash, which never changes."""
        return is_commit(self.revision)

    def __str__(self) -> str:
        """Return the name as ``parse_hub_name`` reads it."""
        return f"{SCHEME}{self.repo}@{self.revision}"


def is_commit(revision: str) -> bool:
    """Return whether ``revision`` is a full commit hash."""
    return _COMMIT.fullmatch(revision) is not None


def parse_hub_name(text: str) -> HubName:
    """Parse ``hf://org/name`` or ``hf://org/name@revision``, with or without ``hf://``.

    Raises:
        UserError: it is not valid.
    """
    repo, at, revision = text.strip().removeprefix(SCHEME).partition("@")
    parts = repo.split("/")
    if not _REPO.fullmatch(repo) or any("--" in part or ".." in part for part in parts):
        raise UserError(f"{text!r}: a Hub model is written as {SCHEME}org/name[@revision]")
    if not at:
        return HubName(repo)
    if not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision:
        raise UserError(f"{text!r}: {revision!r} is not a branch, a tag or a commit")
    if revision.endswith(("/", ".lock")):
        raise UserError(f"{text!r}: {revision!r} is not a branch, a tag or a commit")
    return HubName(repo, revision)


Kind = Literal["preset", "demo", "folder", "config", "weights", "pickle", "hub", "runs"]


class ModelSource(Struct, frozen=True):
    """A model to open.

    Attributes:
        kind: what ``path`` is. ``folder`` has a configuration, and possibly safetensors files;
            ``weights`` is one safetensors file, ``pickle`` a .bin, .pt, .pth or .ckpt file, an
            index, or a folder with no other weights; ``hub`` a folder of the Hub's cache, empty
            until the model is opened; ``runs`` a file of saved runs, which has the configuration.
        name: as the user wrote it.
        path: the folder or file.
        task: the requested head.
        pickle_allowed: whether the user agreed to read a pickle.
        offload: whether to read weights layer by layer, even if all fit into memory.
        untied: parameters that the model class ties to another one, but which have other values
            in the checkpoint; known when the model is open.
        notices: warnings that apply to all figures of the model; known when it is open.
        sentence_pooling: how the model makes a sentence's vector; known when it is open.
    """

    kind: Kind
    name: str
    path: Path
    task: Task
    pickle_allowed: bool = False
    offload: bool = False
    untied: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    sentence_pooling: SentencePooling | None = None

    def is_same_model(self, other: "ModelSource | None") -> bool:
        """Tell whether another source is the same model, with any head."""
        if other is None:
            return False
        found = replace(
            other,
            task=self.task,
            untied=self.untied,
            notices=self.notices,
            sentence_pooling=self.sentence_pooling,
        )
        return found == self

    @property
    def folder(self) -> Path:
        """The folder of the model, with its tokenizer."""
        # By its kind: a folder that was deleted since is not a file in its parent.
        is_folder = self.kind in ("folder", "demo") or self.path.is_dir()
        return self.path if is_folder else self.path.parent

    @property
    def config_file(self) -> Path | None:
        """The configuration file, ``None`` for weights without one."""
        if self.kind in ("preset", "config"):
            return self.path
        if self.kind == "runs":
            return None
        file = self.folder / CONFIG
        # Anything of this name is taken for the configuration, and refused if it is not one.
        return file if lexists(file) or self.kind not in ("weights", "pickle") else None

    @property
    def has_weights(self) -> bool:
        """Whether there is a checkpoint to load, valid or not."""
        if self.kind == "pickle":
            return self.pickle_allowed
        return self.kind not in ("preset", "config", "runs") and has_checkpoint(self.path)

    def info(self, report: LoadReport | None) -> SourceInfo:
        """Return the description of the source in an architecture, before weights are read.

        ``report`` is ``None`` for a model without weights.
        """
        return SourceInfo(
            kind=self.kind,
            name=self.name,
            task=self.task.name,
            weights="none" if report is None else "pretrained",
            random_tensors=() if report is None else report.missing,
            offloaded=self.offload and report is not None,
            notices=self.notices,
            sentence_pooling=self.sentence_pooling,
        )
