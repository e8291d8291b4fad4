"""Conversion of pickled weights to safetensors, in a helper process."""

import json
from pathlib import Path

from bertviewer.core.checkpoints.finding import (
    MAX_SHARDS,
    PICKLED_WEIGHTS,
    WEIGHTS,
    WEIGHTS_INDEX,
    check_inside,
    pickle_in,
    read_index,
)
from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.pickles import worker
from bertviewer.core.pickles.contents import read_contents
from bertviewer.core.saving.atomic_files import PREFIX
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.helper_process import HelperProcess
from bertviewer.core.util.memory import fits, shortage
from bertviewer.core.util.progress import Progress, no_progress

PICKLE_SUFFIX = ".bin"
MEMORY = 1_000_000_000
"""Bytes that the helper process may allocate in addition to three times the file."""
MEMORY_PER_BYTE = 1.3
"""What it takes for a byte of the file: the tensors, and copies of a few."""
SECONDS = 120
BYTES_PER_SECOND = 20_000_000
"""Its CPU time: at least 120 s, and more for a large file."""


def pickle_files(path: Path) -> tuple[Path, ...]:
    """Return the files of pickled weights of a model's folder, an index of several, or one file.

    Raises:
        UserError: there are none, the index is invalid, or a file is outside of the folder.
    """
    if path.is_dir():
        path = pickle_in(path) or path / PICKLED_WEIGHTS[0]
    files: tuple[Path, ...] = (path,)
    if path.suffix == ".json":
        names = dict.fromkeys(read_index(path, PICKLE_SUFFIX).values())
        if len(names) > MAX_SHARDS:
            raise UserError(
                f"{path}: the index names {len(names):,} files, more than any real index"
            )
        files = tuple(path.parent / name for name in names)
    for file in files:
        check_inside(file)
        if not file.is_file():
            raise UserError(f"{file}: {NOT_REGULAR}")
    return files


def convert_pickle(file_or_index: Path, folder: Path, progress: Progress = no_progress) -> Path:
    """Write pickled weights into ``folder`` as safetensors files, and return the folder.

    One file becomes ``model.safetensors``; several become as many, with an index.

    Raises:
        UserError: a file is damaged or contains more than tensors, or the helper process failed.
        Cancelled: by ``progress``; the helper process has ended then.
    """
    files = pickle_files(file_or_index)
    for file in files:
        if refusal := read_contents(file).refusal:
            raise UserError(refusal)
    if len(files) == 1:
        _convert_file(files[0], folder / WEIGHTS, progress)
        return folder
    shard_of: dict[str, str] = {}
    for number, file in enumerate(files, 1):
        target = folder / f"model-{number:05}-of-{len(files):05}.safetensors"
        _convert_file(file, target, progress)
        for tensor in read_header(target):
            if tensor.name in shard_of:
                raise UserError(f"{file_or_index}: two of its files hold {tensor.name!r}")
            shard_of[tensor.name] = target.name
    (folder / WEIGHTS_INDEX).write_text(json.dumps({"weight_map": shard_of}), encoding="utf-8")
    return folder


def _convert_file(file: Path, target: Path, progress: Progress) -> None:
    source, written = file.resolve(), target.with_name(f"{PREFIX}{target.name}")
    nbytes = max(file.stat().st_size, 1)
    if not fits(needed := nbytes * MEMORY_PER_BYTE):
        raise UserError(f"{file}: {shortage('reading it needs', needed)}")

    def report(done: int, total: int, label: str) -> None:
        done = written.stat().st_size if written.exists() else 0
        progress(min(1000 * done // nbytes, 1000), 1000, label)

    try:
        with HelperProcess(
            worker.__name__,
            memory=3 * nbytes + MEMORY,
            seconds=SECONDS + nbytes // BYTES_PER_SECOND,
            reads=[source.parent],
        ) as process:
            arguments = {"source": str(source), "target": str(written.absolute())}
            process.call("convert", arguments, report, f"Reading {file.name} in a separate process")
        read_header(written)  # a malicious pickle may have written it
        written.replace(target)
    except UserError as error:
        raise UserError(f"{file}: {str(error).removeprefix(f'{written}: ')}") from error
    finally:
        written.unlink(missing_ok=True)
