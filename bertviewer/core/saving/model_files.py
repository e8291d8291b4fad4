"""The files that a model consists of, which saving never replaces."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertviewer.core.checkpoints.finding import PICKLED_WEIGHTS, WEIGHTS, WEIGHTS_INDEX
from bertviewer.core.sources.model_source import CONFIG, ModelSource
from bertviewer.core.tokenization.files import READ_BY_TRANSFORMERS
from bertviewer.core.util.errors import UserError

MODEL_FILES = (CONFIG, WEIGHTS, WEIGHTS_INDEX, *PICKLED_WEIGHTS, *READ_BY_TRANSFORMERS,
               "chat_template.jinja")  # fmt: skip
TEMPLATES = "additional_chat_templates"
EXPORT_SUFFIXES = (".pdf", ".html", ".htm", ".tex", ".svg", ".png", ".csv", ".npy")
"""What this program saves; such files may be replaced in a model's folder too."""
WEIGHT_SUFFIXES = (".safetensors", ".bin", ".h5", ".gguf", ".ckpt", ".msgpack", ".onnx", ".pt",
                   ".pth")  # fmt: skip
"""Weights are never replaced next to a model: shards and other formats."""
IS_THE_MODELS = "it is one of the model's files"


def check_no_model_file(path: Path, models: Iterable[ModelSource]) -> None:
    """Check that a file at ``path``, if any, does not belong to one of these models.

    Files are compared by inode: a hard link to a model's file, or the target of a link in the
    Hub's cache, belongs to the model too.

    Raises:
        UserError: it belongs to one.
    """
    try:
        existing = path.stat()
    except (OSError, ValueError):
        return  # no such file, or writing it will report why not
    for model in models:
        if model.kind == "runs":
            continue  # saved runs are in memory
        if _is_among(path, model) or any(_is_same(existing, file) for file in _model_files(model)):
            raise UserError(f"cannot write {path}: {IS_THE_MODELS} {model.name}")


def _is_same(existing: os.stat_result, file: Path) -> bool:
    try:
        return os.path.samestat(existing, file.stat())
    except OSError:
        return False  # a model has only some of the names, and links may be broken


def _model_files(model: ModelSource) -> Iterator[Path]:
    """Yield the paths that a model's files may have."""
    if _is_not_downloaded(model):
        return
    folder = model.folder
    yield model.path
    yield from (folder / name for name in MODEL_FILES)
    yield from (folder / TEMPLATES).glob("*.jinja")
    # Links lead to files in the Hub's cache, whose names are hashes.
    suffixes = (".json", *WEIGHT_SUFFIXES) if _is_whole_folder(model) else WEIGHT_SUFFIXES
    yield from (file for file in folder.glob("*") if file.suffix in suffixes)


def _is_among(path: Path, model: ModelSource) -> bool:
    """Return whether a path belongs to a model by its place and suffix.

    If the model is a folder, that is anything in it that is not an export; if it is a file, only
    weights next to it.
    """
    if _is_not_downloaded(model):
        return False
    folder, file = model.folder.resolve(), path.resolve()
    if _is_whole_folder(model):
        return file.is_relative_to(folder) and file.suffix.lower() not in EXPORT_SUFFIXES
    return file.parent == folder and file.suffix.lower() in WEIGHT_SUFFIXES


def _is_not_downloaded(model: ModelSource) -> bool:
    return model.kind == "hub" and model.path == Path()


def _is_whole_folder(model: ModelSource) -> bool:
    is_index = model.kind == "pickle" and model.path.suffix == ".json"
    return model.path == model.folder or is_index
