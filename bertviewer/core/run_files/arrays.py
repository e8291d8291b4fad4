"""Arrays of a file of runs: they lie beside its JSON as they are in memory."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.plain_data import LARGEST, Odd, Reader
from bertviewer.core.text.special_floats import encoded

_ARRAYS = frozenset(("<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "|i1", "|u1", "|b1"))
_MOST_DIMENSIONS = 4


class ArrayWriter:
    """Collects arrays one behind the other."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._end = 0

    def put(self, array: NDArray[Any]) -> dict[str, Any]:
        """Take an array, and return where it is."""
        held = np.ascontiguousarray(array)
        held = held.astype(held.dtype.newbyteorder("<"), copy=False)
        if held.dtype.str not in _ARRAYS or held.ndim > _MOST_DIMENSIONS:
            raise TypeError(f"an array of {held.dtype} in {held.ndim} dimensions cannot be written")
        raw = held.tobytes()
        entry = {"dtype": held.dtype.str, "shape": list(array.shape), "at": self._end}
        self.pieces.append(raw)
        self._end += len(raw)
        return entry


def to_plain(value: Any, arrays: ArrayWriter) -> Any:
    """Return a dataclass, and all that is in it, as what JSON knows."""
    if isinstance(value, np.ndarray):
        return arrays.put(value)
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name), arrays) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(inner, arrays) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner, arrays) for inner in value]
    return encoded(value)


def reader_of(arrays: memoryview) -> Reader:
    """Return what reads what ``to_plain`` gave, and the arrays beside it.

    All arrays together take no more bytes than there are, so that none can be read many times.
    """
    left = len(arrays)

    def read(data: Any) -> NDArray[Any]:
        match data:
            case {"dtype": str(dtype), "shape": list(shape), "at": int(at)} if dtype in _ARRAYS:
                pass
            case _:
                raise Odd("is not an array")
        sizes = all(type(size) is int and 0 <= size < LARGEST for size in shape)
        if not sizes or len(shape) > _MOST_DIMENSIONS:
            raise Odd("is not a list of sizes", ".shape")
        count = math.prod(shape)
        end = at + count * np.dtype(dtype).itemsize
        if not 0 <= at <= end <= len(arrays):
            raise Odd("does not lie inside the file")
        nonlocal left
        left -= end - at
        if left < 0:
            raise Odd("overlaps another array")
        return np.frombuffer(arrays, dtype, count, at).reshape(shape)

    # Some classes import these where types are checked alone.
    return Reader({np.ndarray: read}, {"np": np, "NDArray": NDArray}, is_exact=True)
