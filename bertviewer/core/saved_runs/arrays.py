"""Arrays of a saved run: their bytes follow its JSON, which says where each is."""

import math
from typing import Annotated, Any, Literal, get_args

import msgspec
import numpy as np
from msgspec import Meta, Struct, ValidationError
from numpy.typing import NDArray

from bertviewer.core.schema import activation_run
from bertviewer.core.util.serialization import Hook, convert, encode_floats

_Dtype = Literal["<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "|i1", "|u1", "|b1"]
_MOST_DIMENSIONS = 4
_Size = Annotated[int, Meta(ge=0)]

# Its annotations name these, and importing it imports no numpy.
vars(activation_run).update(np=np, NDArray=NDArray)


class _Place(Struct, frozen=True, forbid_unknown_fields=True):
    """An array's dtype and shape, and where its bytes begin."""

    dtype: _Dtype
    shape: Annotated[tuple[_Size, ...], Meta(max_length=_MOST_DIMENSIONS)]
    at: _Size


class ArrayWriter:
    """Collects arrays one after the other."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._end = 0

    def put(self, array: Any) -> dict[str, Any]:
        """Take an array, and return where it is.

        Raises:
            TypeError: it is none, or cannot be written.
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{type(array).__name__} cannot be written")
        held = np.ascontiguousarray(array)
        held = held.astype(held.dtype.newbyteorder("<"), copy=False)
        if held.dtype.str not in get_args(_Dtype) or held.ndim > _MOST_DIMENSIONS:
            raise TypeError(f"an array of {held.dtype} in {held.ndim} dimensions cannot be written")
        raw = held.tobytes()
        entry = {"dtype": held.dtype.str, "shape": list(array.shape), "at": self._end}
        self.pieces.append(raw)
        self._end += len(raw)
        return entry


def to_plain(value: Any, arrays: ArrayWriter) -> Any:
    """Return a Struct, and all that it contains, as JSON's types."""
    return encode_floats(msgspec.to_builtins(value, enc_hook=arrays.put))


def array_reader(arrays: memoryview) -> Hook:
    """Return what reads arrays as ``to_plain`` gives them.

    All arrays together take no more bytes than there are, so that none can be read many times.
    """
    left = len(arrays)

    def read(_kind: type, data: Any) -> NDArray[Any]:
        nonlocal left
        try:
            place = convert(data, _Place)
        except (
            ValidationError
        ) as error:  # as it is, it would have a place, and not that of the array
            raise ValueError(f"not an array: {error}") from None
        count = math.prod(place.shape)
        end = place.at + count * np.dtype(place.dtype).itemsize
        if end > len(arrays):
            raise ValueError("an array does not lie inside the file")
        left -= end - place.at
        if left < 0:
            raise ValueError("an array overlaps another one")
        return np.frombuffer(arrays, place.dtype, count, place.at).reshape(place.shape)

    return read
