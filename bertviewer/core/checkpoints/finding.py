"""Finds the safetensors files of a model, and reads what they hold without reading values."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from bertviewer.core.checkpoints.header import MAX_TENSORS, parse_json, read_header, shown_name
from bertviewer.core.checkpoints.stored import Checkpoint, StoredFile, StoredTensor
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
INDEXES = "*.safetensors.index*.json"
SHARDS = "*-of-*.safetensors"
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt")
TRAINING = ("optimizer", "scheduler", "scaler", "rng_state", "random_states", "training_args",
            "trainer_state", "zero_")  # fmt: skip
"""How names of files begin that training leaves next to a model's weights."""
SUFFIX = ".safetensors"
MAX_INDEX = 30_000_000  # bytes
MAX_SHARDS = 2_000
LEAVES = "a link that points outside its folder, which is not followed"


def has_checkpoint(path: Path) -> bool:
    """Tell whether there is something for ``find_checkpoint`` to read; it may still be bad.

    Raises:
        UserError: the folder has shards and no index that says what is in which.
    """
    return weights_in(path) is not None if path.is_dir() else path.suffix == SUFFIX


def weights_in(folder: Path) -> Path | None:
    """Return a folder's safetensors file, or the index of several; ``None`` without one.

    It may have another name than the usual one, such as ``model.fp16.safetensors``, if no other
    file comes into question.

    Raises:
        UserError: the folder has shards and no index that says what is in which.
    """
    # A link that leads nowhere is a checkpoint too: one that cannot be read.
    for name in (SINGLE, INDEX):
        if os.path.lexists(folder / name):
            return folder / name
    indexes = sorted(folder.glob(INDEXES))
    if len(indexes) == 1:
        return indexes[0]
    if shard := next(iter(sorted(folder.glob(SHARDS))), None):
        raise UserError(f"{folder}: {shard.name} is one of several files, and {INDEX} is missing")
    files = _weights(folder)
    return files[0] if len(files) == 1 else None


def several_weights(folder: Path) -> list[str]:
    """Return the names of files of weights in a folder, if it has several and no usual one."""
    files = [*_weights(folder), *_pickles(folder)]
    return [file.name for file in files] if len(files) > 1 else []


def pickle_in(folder: Path) -> Path | None:
    """Return a folder's file of pickled weights, or the index of several; ``None`` without one."""
    for name in PICKLES:
        if os.path.lexists(folder / name):
            return folder / name
    files = _pickles(folder)
    return files[0] if len(files) == 1 else None


def _weights(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob(f"*{SUFFIX}")) if _is_model(file)]


def _pickles(folder: Path) -> list[Path]:
    found = (file for suffix in PICKLE_SUFFIXES for file in folder.glob(f"*{suffix}"))
    return [file for file in sorted(found) if _is_model(file)]


def _is_model(file: Path) -> bool:
    return not (file.name.startswith((*TRAINING, "adapter")) or "-of-" in file.name)


def find_checkpoint(path: Path) -> Checkpoint | None:
    """Return what a model's folder, or one safetensors file, holds; ``None`` if no such file.

    A folder has one file, or an index that names the file of each tensor. Only files in the folder
    itself are read: neither an index nor a link leads anywhere else, but for the blobs that the
    hub's cache links to.

    Raises:
        UserError: a file is missing, lies elsewhere, or is no good safetensors file.
    """
    if path.is_dir():
        found = weights_in(path)
        if found is not None and found.suffix == ".json":
            return _sharded(found)
        return None if found is None else _checkpoint((found,))
    return _checkpoint((path,)) if path.suffix == SUFFIX else None


def _checkpoint(files: tuple[Path, ...]) -> Checkpoint:
    tensors: dict[str, StoredTensor] = {}
    sizes = []
    inodes: dict[tuple[int, int], str] = {}
    for file in files:
        check_inside(file)
        there = file.stat()
        if (other := inodes.setdefault((there.st_dev, there.st_ino), file.name)) != file.name:
            raise UserError(f"{file}: the same file as {shown_name(other)}")
        found = read_header(file)
        if len(tensors) + len(found) > MAX_TENSORS:
            raise UserError(f"{file.parent}: its files contain more than {MAX_TENSORS:,} tensors")
        for tensor in found:
            tensors.setdefault(tensor.name, tensor)
        # The file ends with its last tensor, or it would have been refused.
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


def read_index(index: Path, suffix: str = SUFFIX) -> Mapping[str, str]:
    """Return the file name of each tensor: names, with this ending, of files beside the index.

    Raises:
        UserError: it cannot be read, is no index, or names a file that lies elsewhere.
    """
    check_inside(index)
    text = read_small_file(index, MAX_INDEX, "an index")
    data: Any = parse_json(text, index, "index", fractions=True)
    names = data.get("weight_map") if isinstance(data, dict) else None
    if not isinstance(names, dict) or not names:
        raise UserError(f"{index}: bad index: it has no weight_map")
    for key, name in names.items():
        if not isinstance(name, str):
            raise UserError(
                f"{index}: bad index: the entry for {shown_name(key)} is not a file name"
            )
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
    """Tell whether a name leads nowhere: on no system does it have more than one part."""
    return (
        bool(name)
        and name.isprintable()
        and name not in (".", "..")
        and PurePosixPath(name).name == name
        and PureWindowsPath(name).name == name
    )


def check_inside(file: Path) -> None:
    """Return if a file is where its name says, or a link of the hub's cache to its own blobs.

    Raises:
        UserError: it is a link that leaves its folder, or leads nowhere.
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
        raise UserError(f"{file}: {LEAVES}")
