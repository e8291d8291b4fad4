"""Checkpoint files of a model: finding them, and reading their headers and indexes."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated

from msgspec import Meta, Struct

from bertviewer.core.checkpoints.header import MAX_TENSORS, json_error, read_header
from bertviewer.core.checkpoints.stored import Checkpoint, StoredFile, StoredTensor
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.serialization import decode
from bertviewer.core.util.text import shown_name

WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"
_INDEX_PATTERN = "*.safetensors.index*.json"
_SHARD_PATTERN = "*-of-*.safetensors"
PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt")
TRAINING_PREFIXES = ("optimizer", "scheduler", "scaler", "rng_state", "random_states",
                     "training_args", "trainer_state", "zero_")  # fmt: skip
"""First parts of the names of files that training leaves in a model's folder."""
SAFETENSORS_SUFFIX = ".safetensors"
MAX_INDEX = 30_000_000  # bytes
MAX_SHARDS = 2_000
LINKS_OUTSIDE = "a link that points outside its folder, which is not followed"


class _Index(Struct, frozen=True):
    """An index: the file of each tensor."""

    weight_map: Annotated[dict[str, str], Meta(min_length=1)]


def has_checkpoint(path: Path) -> bool:
    """Tell whether there are weights for ``find_checkpoint`` to read, valid or not.

    Raises:
        UserError: the folder has shards and no index of them.
    """
    return weights_in(path) is not None if path.is_dir() else path.suffix == SAFETENSORS_SUFFIX


def weights_in(folder: Path) -> Path | None:
    """Return a folder's safetensors file, or the index of several; ``None`` without one.

    A single file may have any name, such as ``model.fp16.safetensors``.

    Raises:
        UserError: the folder has shards and no index of them.
    """
    # A broken link is a checkpoint too: one that cannot be read.
    for name in (WEIGHTS, WEIGHTS_INDEX):
        if os.path.lexists(folder / name):
            return folder / name
    indexes = sorted(folder.glob(_INDEX_PATTERN))
    if len(indexes) == 1:
        return indexes[0]
    if shard := next(iter(sorted(folder.glob(_SHARD_PATTERN))), None):
        raise UserError(
            f"{folder}: {shard.name} is one of several files, and {WEIGHTS_INDEX} is missing"
        )
    files = _weights(folder)
    return files[0] if len(files) == 1 else None


def ambiguous_weights(folder: Path) -> list[str]:
    """Return the names of weight files in a folder that has several with unusual names."""
    files = [*_weights(folder), *_pickles(folder)]
    return [file.name for file in files] if len(files) > 1 else []


def pickle_in(folder: Path) -> Path | None:
    """Return a folder's file of pickled weights, or the index of several; ``None`` without one."""
    for name in PICKLED_WEIGHTS:
        if os.path.lexists(folder / name):
            return folder / name
    files = _pickles(folder)
    return files[0] if len(files) == 1 else None


def _weights(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob(f"*{SAFETENSORS_SUFFIX}")) if _is_model(file)]


def _pickles(folder: Path) -> list[Path]:
    found = (file for suffix in PICKLE_SUFFIXES for file in folder.glob(f"*{suffix}"))
    return [file for file in sorted(found) if _is_model(file)]


def _is_model(file: Path) -> bool:
    return not (file.name.startswith((*TRAINING_PREFIXES, "adapter")) or "-of-" in file.name)


def find_checkpoint(path: Path) -> Checkpoint | None:
    """Return the tensors of a model's folder, or of one safetensors file; ``None`` without any.

    A folder has one file, or an index with the file of each tensor. Only files in the folder
    itself are read: neither an index nor a link leads to another one, except for links in the
    Hub's cache to its own blobs.

    Raises:
        UserError: a file is missing, is in another folder, or is not a valid safetensors file.
    """
    if path.is_dir():
        found = weights_in(path)
        if found is not None and found.suffix == ".json":
            return _sharded(found)
        return None if found is None else _checkpoint((found,))
    return _checkpoint((path,)) if path.suffix == SAFETENSORS_SUFFIX else None


def _checkpoint(files: tuple[Path, ...]) -> Checkpoint:
    tensors: dict[str, StoredTensor] = {}
    sizes = []
    inodes: dict[tuple[int, int], str] = {}
    for file in files:
        check_inside(file)
        status = file.stat()
        if (other := inodes.setdefault((status.st_dev, status.st_ino), file.name)) != file.name:
            raise UserError(f"{file}: the same file as {shown_name(other)}")
        found = read_header(file)
        if len(tensors) + len(found) > MAX_TENSORS:
            raise UserError(f"{file.parent}: its files contain more than {MAX_TENSORS:,} tensors")
        for tensor in found:
            tensors.setdefault(tensor.name, tensor)
        # A valid file ends with its last tensor.
        sizes.append(StoredFile(file, found[-1].offset + found[-1].nbytes))
    return Checkpoint(tuple(sizes), tensors)


def _sharded(index: Path) -> Checkpoint:
    shard_of = read_index(index)
    names = dict.fromkeys(shard_of.values())
    if len(names) > MAX_SHARDS:
        raise UserError(f"{index}: it names {len(names):,} files, more than any real index")
    for name in names:
        if not os.path.lexists(index.parent / name):
            raise UserError(f"{index}: it names {shown_name(name)}, which does not exist")
    found = _checkpoint(tuple(index.parent / name for name in names))
    held = {tensor.name: tensor.file.name for tensor in found.tensors.values()}
    for key, name in shard_of.items():
        if held.get(key) != name:
            raise UserError(
                f"{index}: it says that {shown_name(key)} is in {name}, "
                + (f"but it is in {held[key]}" if key in held else "but it is not")
            )
    return found


def read_index(index: Path, suffix: str = SAFETENSORS_SUFFIX) -> Mapping[str, str]:
    """Return the file name of each tensor: files with this suffix in the folder of the index.

    Raises:
        UserError: it cannot be read, is not valid, or names a file in another folder.
    """
    check_inside(index)
    text = read_small_file(index, MAX_INDEX, "an index")
    try:
        names = decode(text, _Index).weight_map
    except (ValueError, RecursionError) as error:
        raise UserError(f"{index}: bad index: {json_error(error)}") from error
    for name in dict.fromkeys(names.values()):
        if not is_plain_name(name):
            raise UserError(
                f"{index}: bad index: {shown_name(name)} is not the name of a file in the same "
                "folder"
            )
        if not name.endswith(suffix):
            raise UserError(f"{index}: bad index: {shown_name(name)} is not a {suffix} file")
    return names


def is_plain_name(name: str) -> bool:
    """Tell whether a name is a file name without a folder, on any system."""
    return (
        bool(name)
        and name.isprintable()
        and name not in (".", "..")
        and PurePosixPath(name).name == name
        and PureWindowsPath(name).name == name
    )


def check_inside(file: Path) -> None:
    """Return if a file is in its folder, or a link of the Hub's cache to its own blobs.

    Raises:
        UserError: it is a link to another folder, or a broken one.
    """
    try:
        folder, target = file.parent.resolve(strict=True), file.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        cause = (isinstance(error, OSError) and error.strerror) or "a link that points to itself"
        raise UserError(f"{file}: {cause}") from error
    # The cache: models--org--name/snapshots/<commit>/<file> -> ../../blobs/<hash>
    is_snapshot = folder.parent.name == "snapshots" and folder.parents[1].name.startswith(
        "models--"
    )
    blobs = folder.parents[1] / "blobs" if is_snapshot else folder
    # Those may lead on to a store that all models share: blobs/<two digits>/<hash>
    is_shared = is_snapshot and target.parents[1] == folder.parents[2] / "blobs"
    if target.parent not in (folder, blobs) and not is_shared:
        raise UserError(f"{file}: {LINKS_OUTSIDE}")
