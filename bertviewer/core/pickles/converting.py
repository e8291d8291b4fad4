"""Has pickled weights turned into safetensors by a child process, and watches over it."""

import json
import subprocess
import tempfile
from pathlib import Path
from signal import Signals
from typing import IO

from bertviewer.core.checkpoints import PICKLE_CHILD
from bertviewer.core.checkpoints.finding import INDEX, SINGLE
from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.pickles.contents import read_contents
from bertviewer.core.pickles.files import pickle_files
from bertviewer.core.saving.atomic_files import PREFIX
from bertviewer.core.util import child_process
from bertviewer.core.util.child_process import REFUSED
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.log import write_log
from bertviewer.core.util.memory import available_memory
from bertviewer.core.util.progress import Progress, no_progress

LOOK_EVERY = 0.05  # seconds
MEMORY_PER_BYTE = 1.3
"""What the child takes for a byte of the file: its tensors, and a copy of a few of them."""
MAX_ANSWER = 10_000  # bytes
# SIGKILL is what a system out of memory sends; SIGXCPU comes from the limit of time.
_KILLS = (-9, -24)


def convert_pickle(file_or_index: Path, folder: Path, progress: Progress = no_progress) -> Path:
    """Write pickled weights into ``folder`` as safetensors files, and return the folder.

    One file becomes ``model.safetensors``; several become as many, with an index.

    Raises:
        UserError: a file is damaged, holds more than tensors, or the child process died.
        Cancelled: by ``progress``; the child process is gone then.
    """
    files = pickle_files(file_or_index)
    for file in files:
        if refusal := read_contents(file).refusal:
            raise UserError(refusal)
    if len(files) == 1:
        _convert_file(files[0], folder / SINGLE, progress)
        return folder
    shard_of: dict[str, str] = {}
    for number, file in enumerate(files, 1):
        target = folder / f"model-{number:05}-of-{len(files):05}.safetensors"
        _convert_file(file, target, progress)
        for tensor in read_header(target):
            if tensor.name in shard_of:
                raise UserError(f"{file_or_index}: two of its files hold {tensor.name!r}")
            shard_of[tensor.name] = target.name
    (folder / INDEX).write_text(json.dumps({"weight_map": shard_of}), encoding="utf-8")
    return folder


def _convert_file(file: Path, target: Path, progress: Progress) -> None:
    nbytes = max(file.stat().st_size, 1)
    needed, free = nbytes * MEMORY_PER_BYTE, available_memory()
    if free is not None and needed > free:
        raise UserError(
            f"{file}: reading it needs {needed / 1e9:.1f} GB of memory, but only "
            f"{free / 1e9:.1f} GB are free"
        )
    written = target.with_name(f"{PREFIX}{target.name}")
    label = f"Reading {file.name} in a separate process"
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = child_process.start(
            PICKLE_CHILD,
            [str(file.resolve()), str(written)],
            target.parent,
            stdout=output,
            stderr=errors,
        )
        try:
            while child.poll() is None:
                done = written.stat().st_size if written.exists() else 0
                progress(min(1000 * done // nbytes, 1000), 1000, label)
                try:
                    child.wait(LOOK_EVERY)
                except subprocess.TimeoutExpired:
                    continue
            if child.returncode != 0 or not written.is_file():
                raise UserError(_reason(file, child.returncode, output, errors))
            # Not even what our own child wrote is believed.
            try:
                read_header(written)
            except UserError as error:
                raise UserError(str(error).replace(str(written), str(file))) from error
            written.replace(target)
        finally:
            child.kill()
            child.wait()
            written.unlink(missing_ok=True)


def _reason(file: Path, status: int, output: IO[bytes], errors: IO[bytes]) -> str:
    """Say in one line why the child gave nothing."""
    output.seek(0)
    errors.seek(0)
    if status == REFUSED and (said := output.read(MAX_ANSWER)):
        # In the words of whoever opened it: not the file behind a link, nor the whole path.
        return said.decode("utf-8", "replace").replace(str(file.resolve()), str(file))
    if status in _KILLS:
        name = Signals(-status).name
        return f"{file}: the system stopped reading it ({name}): too much memory or time"
    trace = errors.read()[-MAX_ANSWER:].decode("utf-8", "replace")
    log = write_log(f"the process that read {file} ended with {status}:\n{trace}")
    return f"{file}: the process that read it crashed; details are in {log}"
