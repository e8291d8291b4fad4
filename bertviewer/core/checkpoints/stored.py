"""Tensors as a checkpoint stores them: where their bytes lie, and not yet their values."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bertviewer.core.checkpoints.version import FileVersion
from bertviewer.core.util.serialization import PartialEquality

ITEM_BYTES: Mapping[str, int] = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U64": 8,
    "U32": 4,
    "U16": 2,
    "U8": 1,
    "BOOL": 1,
}
"""Bytes of one element, by safetensors' names of the dtypes that can be read."""

UNREADABLE_BITS: Mapping[str, int] = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "C64": 64,
    "C128": 128,
}
"""Bits of one element, by safetensors' names of the dtypes whose values cannot be read."""

TORCH_NAMES: Mapping[str, str] = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
    "F4": "float4_e2m1fn_x2",
    "F6_E2M3": "float6_e2m3",
    "F6_E3M2": "float6_e3m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "C64": "complex64",
    "C128": "complex128",
}
"""torch's names of safetensors' dtypes; torch has none for floats of 6 bits."""


def bits_of(dtype: str) -> int | None:
    """Return the bits of one element, ``None`` for a dtype that safetensors does not have."""
    if dtype in ITEM_BYTES:
        return 8 * ITEM_BYTES[dtype]
    return UNREADABLE_BITS.get(dtype)


class StoredTensor(PartialEquality, Struct, frozen=True):
    """One tensor in a safetensors file.

    Attributes:
        name: its key in the file.
        dtype: one of ``ITEM_BYTES`` or ``UNREADABLE_BITS``, as safetensors writes it.
        shape: its dimensions; a scalar has none.
        file: the file that holds it.
        offset: where its first byte lies, counted from the start of the file.
        nbytes: how many bytes it takes: elements, row by row, little-endian.
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
        nbytes: its size; that of the pickle, if it was made from one.
        pickle: the file of the model that it was made from, ``None`` if it is the model's own.
    """

    path: Path
    nbytes: int
    pickle: Path | None = None

    @property
    def own(self) -> Path:
        """The model's own file, by which it is called."""
        return self.pickle or self.path


class Checkpoint(Struct, frozen=True):
    """All files of a checkpoint, and its tensors by their keys."""

    files: tuple[StoredFile, ...]
    tensors: Mapping[str, StoredTensor]

    @property
    def nbytes(self) -> int:
        """The size of all files together."""
        return sum(file.nbytes for file in self.files)
