"""Tensors as a checkpoint stores them: where their bytes are, without their values."""

import os
from collections.abc import Mapping
from io import FileIO
from pathlib import Path

from msgspec import Struct

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import PartialEquality


class FileVersion(Struct, frozen=True):
    """Times and size of a file, which change when it is written.

    Attributes:
        modified_ns: time of the last write (mtime), in nanoseconds since 1970.
        changed_ns: time of the last change of its content, name or folder (ctime); on Windows, of
            its creation. Inode numbers are no alternative: some network disks change them.
        nbytes: its size.
    """

    modified_ns: int
    changed_ns: int
    nbytes: int


def version_of(file_number: int) -> FileVersion:
    """Return the version of an open file, by its descriptor."""
    found = os.fstat(file_number)
    return FileVersion(found.st_mtime_ns, found.st_ctime_ns, found.st_size)


def check_version(path: Path, opened: FileIO, expected: FileVersion | None) -> None:
    """Return if an open file has the expected version, or that version is not known.

    Call it after reading: the values that were read are then of that version.

    Raises:
        UserError: the file was written.
    """
    if expected is not None and version_of(opened.fileno()) != expected:
        raise UserError(f"{path}: the file has changed since it was opened; open the model again")


class Dtype(Struct, frozen=True):
    """A dtype of safetensors.

    Attributes:
        torch: torch's name; torch has none of 6 bits.
        bits: of one element.
        numpy: numpy's type of the stored bits; empty: values are not supported.
    """

    torch: str
    bits: int
    numpy: str = ""


DTYPES: Mapping[str, Dtype] = {
    "F64": Dtype("float64", 64, "<f8"),
    "F32": Dtype("float32", 32, "<f4"),
    "F16": Dtype("float16", 16, "<f2"),
    "BF16": Dtype("bfloat16", 16, "<u2"),
    "F8_E4M3": Dtype("float8_e4m3fn", 8, "|u1"),
    "F8_E5M2": Dtype("float8_e5m2", 8, "|u1"),
    "I64": Dtype("int64", 64, "<i8"),
    "I32": Dtype("int32", 32, "<i4"),
    "I16": Dtype("int16", 16, "<i2"),
    "I8": Dtype("int8", 8, "|i1"),
    "U64": Dtype("uint64", 64, "<u8"),
    "U32": Dtype("uint32", 32, "<u4"),
    "U16": Dtype("uint16", 16, "<u2"),
    "U8": Dtype("uint8", 8, "|u1"),
    "BOOL": Dtype("bool", 8, "|u1"),
    "F4": Dtype("float4_e2m1fn_x2", 4),
    "F6_E2M3": Dtype("float6_e2m3", 6),
    "F6_E3M2": Dtype("float6_e3m2", 6),
    "F8_E8M0": Dtype("float8_e8m0fnu", 8),
    "F8_E4M3FNUZ": Dtype("float8_e4m3fnuz", 8),
    "F8_E5M2FNUZ": Dtype("float8_e5m2fnuz", 8),
    "C64": Dtype("complex64", 64),
    "C128": Dtype("complex128", 128),
}
"""Dtypes by safetensors' names."""

TORCH_NAMES: Mapping[str, str] = {name: dtype.torch for name, dtype in DTYPES.items()}
ITEM_BYTES: Mapping[str, int] = {
    name: dtype.bits // 8 for name, dtype in DTYPES.items() if dtype.numpy
}
"""Bytes of one element of each dtype whose values are supported."""


class StoredTensor(PartialEquality, Struct, frozen=True):
    """One tensor in a safetensors file.

    Attributes:
        name: its key in the file.
        dtype: one of ``DTYPES``.
        shape: its dimensions; a scalar has none.
        file: the file that contains it.
        offset: position of its first byte in the file.
        nbytes: its size: elements in row-major order, little-endian.
        version: of the file when its header was read; ``None`` if it was not on this disk then.
    """

    NOT_COMPARED = ("version",)

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    offset: int
    nbytes: int
    version: FileVersion | None = None


class StoredFile(Struct, frozen=True):
    """One file of a checkpoint.

    Attributes:
        path: the file that is read.
        nbytes: its size; of the pickle, if it was converted from one.
        pickle: the pickle that it was converted from, ``None`` for the model's own file.
    """

    path: Path
    nbytes: int
    pickle: Path | None = None

    @property
    def own(self) -> Path:
        """The model's own file, which messages name."""
        return self.pickle or self.path


class Checkpoint(Struct, frozen=True):
    """All files of a checkpoint, and its tensors by their keys."""

    files: tuple[StoredFile, ...]
    tensors: Mapping[str, StoredTensor]

    @property
    def nbytes(self) -> int:
        """The size of all files together."""
        return sum(file.nbytes for file in self.files)
