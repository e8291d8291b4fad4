"""The files that a model is made of, which nothing that is saved may replace."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertviewer.core.errors import UserError
from bertviewer.core.source import PICKLES, ModelSource
from bertviewer.core.tokenizer.files import READ_BY_TRANSFORMERS
from bertviewer.core.weights.finding import INDEX, SINGLE

NAMES = ("config.json", SINGLE, INDEX, *PICKLES, *READ_BY_TRANSFORMERS, "chat_template.jinja")
TEMPLATES = "additional_chat_templates"
ENDINGS = (".json", ".safetensors", ".bin")
"""Of all other files that are a model's in a folder of its own: shards, settings of generation."""


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
        for file in _model_files(model):
            try:
                is_same = os.path.samestat(there, file.stat())
            except OSError:
                continue  # a model has some of the names, and links may lead nowhere
            if is_same:
                raise UserError(f"cannot write {path}: it is a file of the model {model.name}")


def _model_files(model: ModelSource) -> Iterator[Path]:
    """Yield where a model's files are, or would be."""
    if model.kind == "hub" and model.path == Path():
        return  # it is not here yet
    folder = model.folder
    yield model.path
    yield from (folder / name for name in NAMES)
    yield from (folder / TEMPLATES).glob("*.jinja")
    is_index = model.kind == "pickle" and model.path.suffix == ".json"
    if model.path == folder or is_index:
        # Of any other file the folder may be anybody's, and others' files lie beside it.
        yield from (file for file in folder.glob("*") if file.suffix in ENDINGS)
