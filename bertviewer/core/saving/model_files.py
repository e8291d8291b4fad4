"""The files that a model is made of, which nothing that is saved may replace."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertviewer.core.checkpoints.finding import INDEX, PICKLES, SINGLE
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.files import READ_BY_TRANSFORMERS
from bertviewer.core.util.errors import UserError

NAMES = ("config.json", SINGLE, INDEX, *PICKLES, *READ_BY_TRANSFORMERS, "chat_template.jinja")
TEMPLATES = "additional_chat_templates"
EXPORTS = (".pdf", ".html", ".htm", ".tex", ".svg", ".png", ".csv", ".npy")
"""What is saved has such names, and may replace what was saved before, in a model's folder too."""
WEIGHTS = (".safetensors", ".bin", ".h5", ".gguf", ".ckpt", ".msgpack", ".onnx", ".pt", ".pth")
"""Files with such names are a model's wherever they lie beside one: shards, and other formats."""
IS_THE_MODELS = "it is one of the model's files"


def check_no_model_file(path: Path, models: Iterable[ModelSource]) -> None:
    """Return if what is at ``path``, if anything is, is no file of one of these models.

    Files are compared and not their names: a hard link to a model's file, and what the hub's cache
    links to, is the model's too.

    Raises:
        UserError: it is one.
    """
    try:
        there = path.stat()
    except (OSError, ValueError):
        return  # nothing is there, or what writes to it will say why not
    for model in models:
        if model.kind == "runs":
            continue  # they are in memory, and a model's files they are not
        if _is_among(path, model):
            raise UserError(f"cannot write {path}: {IS_THE_MODELS} {model.name}")
        for file in _model_files(model):
            try:
                is_same = os.path.samestat(there, file.stat())
            except OSError:
                continue  # a model has some of the names, and links may lead nowhere
            if is_same:
                raise UserError(f"cannot write {path}: {IS_THE_MODELS} {model.name}")


def _model_files(model: ModelSource) -> Iterator[Path]:
    """Yield where a model's files are, or would be."""
    if model.kind == "hub" and model.path == Path():
        return  # it is not here yet
    folder = model.folder
    yield model.path
    yield from (folder / name for name in NAMES)
    yield from (folder / TEMPLATES).glob("*.jinja")
    # Links lead to a model's files in the hub's cache, whose names say nothing.
    endings = (".json", *WEIGHTS) if _is_whole_folder(model) else WEIGHTS
    yield from (file for file in folder.glob("*") if file.suffix in endings)


def _is_whole_folder(model: ModelSource) -> bool:
    is_index = model.kind == "pickle" and model.path.suffix == ".json"
    return model.path == model.folder or is_index


def _is_among(path: Path, model: ModelSource) -> bool:
    """Tell whether what is at a path lies among a model's files.

    A folder that was opened is the model's, with all below it that is no export. Beside a file
    that was opened others' files may lie, but no other weights.
    """
    if model.kind == "hub" and model.path == Path():
        return False
    folder, file = model.folder.resolve(), path.resolve()
    if _is_whole_folder(model):
        return file.is_relative_to(folder) and file.suffix.lower() not in EXPORTS
    return file.parent == folder and file.suffix.lower() in WEIGHTS
