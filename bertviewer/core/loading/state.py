"""Reads a checkpoint's tensors into memory: what was checked, and nothing else."""

from collections.abc import Iterable, Sequence
from io import FileIO
from itertools import groupby
from pathlib import Path

from torch import Tensor

from bertviewer.core.backend import torch
from bertviewer.core.errors import UserError
from bertviewer.core.progress import Progress
from bertviewer.core.weights.header import read_header
from bertviewer.core.weights.stored import StoredTensor
from bertviewer.core.weights.version import check_version

CHUNK = 1 << 26  # bytes; between two of them the reading can be cancelled

FLOATS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
"""The dtypes that weights are trained and run in, by safetensors' names."""

_DTYPES = FLOATS | {
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U64": torch.uint64,
    "U32": torch.uint32,
    "U16": torch.uint16,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def read_state(tensors: Iterable[StoredTensor], progress: Progress) -> dict[str, Tensor]:
    """Return tensors by their keys, as they are stored.

    They are read and not mapped: a file that shrinks meanwhile gives an error, while a mapped one
    would end the process.

    Raises:
        UserError: a file cannot be read, or is not what it was when the model was opened.
    """
    wanted = sorted(tensors, key=lambda tensor: (tensor.file, tensor.offset))
    total, done = sum(tensor.nbytes for tensor in wanted), 0
    state: dict[str, Tensor] = {}
    for file, held in groupby(wanted, key=lambda tensor: tensor.file):
        here = list(held)
        _check_unchanged(file, here)
        try:
            with file.open("rb", buffering=0) as opened:
                for tensor in here:
                    state[tensor.name] = _read(tensor, opened, done, total, progress)
                    done += tensor.nbytes
                check_version(file, opened, here[0].version)
        except OSError as error:
            raise UserError(f"{file}: {error.strerror or error}") from error
    return state


def _check_unchanged(file: Path, tensors: Sequence[StoredTensor]) -> None:
    """Refuse a file that was written anew: the places that are known would hold other values."""
    now = {tensor.name: tensor for tensor in read_header(file)}
    if any(now.get(tensor.name) != tensor for tensor in tensors):
        raise UserError(f"{file}: the file has changed since it was opened; open the model again")


def _read(tensor: StoredTensor, file: FileIO, done: int, total: int, progress: Progress) -> Tensor:
    values = torch.empty(tensor.nbytes, dtype=torch.uint8)
    room: memoryview = values.numpy().data
    file.seek(tensor.offset)
    at = 0
    while at < tensor.nbytes:
        progress(done + at, total, "Loading weights")
        count = file.readinto(room[at : at + CHUNK])
        if not count:
            raise UserError(f"{tensor.file}: the file has become shorter while it was open")
        at += count
    return values.view(_DTYPES[tensor.dtype]).reshape(tensor.shape)
