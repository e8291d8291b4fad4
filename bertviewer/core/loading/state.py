"""Reads a checkpoint's tensors into memory: what was checked, and nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from itertools import groupby

from msgspec.structs import replace
from torch import Tensor

from bertviewer.core.building.backend import torch
from bertviewer.core.checkpoints.header import read_header
from bertviewer.core.checkpoints.stored import StoredTensor
from bertviewer.core.checkpoints.version import check_version
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress

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

    Raises:
        UserError: a file cannot be read, or is not what it was when the model was opened.
    """
    return {tensor.name: values for tensor, values in read_each(unchanged(tensors), progress)}


def unchanged(tensors: Iterable[StoredTensor]) -> list[StoredTensor]:
    """Return tensors, file by file, with the versions that their files have now.

    Raises:
        UserError: a file was written anew: the places that are known would hold other values.
    """
    wanted = sorted(tensors, key=lambda tensor: (tensor.file, tensor.offset))
    found: list[StoredTensor] = []
    for file, held in groupby(wanted, key=lambda tensor: tensor.file):
        now = {tensor.name: tensor for tensor in read_header(file)}
        for tensor in held:
            if now.get(tensor.name) != tensor:
                raise UserError(
                    f"{file}: the file has changed since it was opened; open the model again"
                )
            version = tensor.version or now[tensor.name].version
            found.append(replace(tensor, version=version))
    return found


def read_each(
    tensors: Sequence[StoredTensor], progress: Progress
) -> Iterator[tuple[StoredTensor, Tensor]]:
    """Yield tensors, which stand file by file, as they are stored.

    They are read and not mapped: a file that shrinks meanwhile gives an error, while a mapped one
    would end the process. Of a file that changes while it is read that is found out at its end.

    Raises:
        UserError: a file cannot be read, or is not the one whose version is known.
    """
    total, done = sum(tensor.nbytes for tensor in tensors), 0
    for file, held in groupby(tensors, key=lambda tensor: tensor.file):
        version = None
        try:
            with file.open("rb", buffering=0) as opened:
                for tensor in held:
                    yield tensor, _read(tensor, opened, done, total, progress)
                    done += tensor.nbytes
                    version = tensor.version
                check_version(file, opened, version)
        except OSError as error:
            raise UserError(f"{file}: {error.strerror or error}") from error


def _read(tensor: StoredTensor, file: FileIO, done: int, total: int, progress: Progress) -> Tensor:
    values = torch.empty(tensor.nbytes, dtype=torch.uint8)
    room: memoryview = values.numpy().data
    file.seek(tensor.offset)
    at = 0
    while at < tensor.nbytes:
        progress(done + at, total, "Loading weights")
        count = file.readinto(room[at : at + CHUNK])
        if not count:
            raise UserError(f"{tensor.file}: the file was truncated while it was open")
        at += count
    return values.view(_DTYPES[tensor.dtype]).reshape(tensor.shape)
