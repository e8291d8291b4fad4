"""Frozen dataclasses as JSON and back, exactly; their arrays lie beside it as they are in memory.

What is read is built by the types that the classes name, and by nothing else: data of another
shape is refused where it is found. Nothing that is read names a class, a function or a file.
"""

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.text.special_floats import KEY, decoded, encoded

LARGEST = 2**63
"""No count of anything is larger; what is drawn has to fit into a float."""

_ARRAYS = frozenset(("<f2", "<f4", "<f8", "<i2", "<i4", "<i8", "|i1", "|u1", "|b1"))
_MOST_DIMENSIONS = 4


class Odd(ValueError):
    """Data that is not what the types say; the message names the place."""


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


def from_plain(kind: Any, data: Any, arrays: memoryview, place: str = "") -> Any:
    """Return what ``to_plain`` was given, of this type.

    Raises:
        Odd: it is something else.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return decoded(data)
    if is_dataclass(kind):
        return _built(kind, data, arrays, place)
    if origin in (Union, types.UnionType):
        return _one_of(parts, data, arrays, place)
    if origin is Literal:
        if not any(type(data) is type(part) and data == part for part in parts):
            raise Odd(f"{place} is none of {', '.join(map(str, parts))}")
        return data
    if origin is tuple:
        return _tuple(parts, data, arrays, place)
    if origin is Mapping:
        _check(isinstance(data, dict), place, "an object")
        return {
            key: from_plain(parts[1], inner, arrays, f"{place}.{key}")
            for key, inner in data.items()
            if _is_text(key, place)
        }
    if origin is np.ndarray:
        return _array(data, arrays, place)
    return _scalar(kind, data, place)


def _built(kind: Any, data: Any, arrays: memoryview, place: str) -> Any:
    hints = _hints(kind)
    _check(isinstance(data, dict), place, "an object")
    if data.keys() != hints.keys():
        odd = sorted(data.keys() ^ hints.keys())[0]
        raise Odd(f"{place}.{odd[:40]!r} is missing, or not known")
    return kind(
        **{n: from_plain(hint, data[n], arrays, f"{place}.{n}") for n, hint in hints.items()}
    )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    # Some classes import these where types are checked alone.
    known = {"np": np, "NDArray": NDArray}
    hints = get_type_hints(kind, localns=known)
    return {field.name: hints[field.name] for field in fields(kind)}


def _one_of(parts: tuple[Any, ...], data: Any, arrays: memoryview, place: str) -> Any:
    if data is None and type(None) in parts:
        return None
    others = [part for part in parts if part is not type(None)]
    for part in others[:-1]:
        try:
            return from_plain(part, data, arrays, place)
        except Odd:
            continue
    return from_plain(others[-1], data, arrays, place)


def _tuple(parts: tuple[Any, ...], data: Any, arrays: memoryview, place: str) -> tuple[Any, ...]:
    _check(isinstance(data, list), place, "a list")
    if len(parts) == 2 and parts[1] is ...:
        kinds = [parts[0]] * len(data)
    else:
        kinds = list(parts)
        _check(len(data) == len(kinds), place, f"a list of {len(kinds)}")
    return tuple(
        from_plain(kind, inner, arrays, f"{place}[{number}]")
        for number, (kind, inner) in enumerate(zip(kinds, data, strict=True))
    )


def _scalar(kind: Any, data: Any, place: str) -> Any:
    if kind is float:
        if isinstance(data, dict) and list(data) == [KEY]:
            data = decoded(data)
        _check(type(data) in (int, float), place, "a number")
        if type(data) is int:
            _check(abs(data) < LARGEST, place, "a number of a sensible size")
        return data
    names = {int: "a whole number", str: "a text", bool: "true or false"}
    _check(kind in names and type(data) is kind, place, names.get(kind, "known"))
    if kind is int:
        _check(abs(data) < LARGEST, place, "a number of a sensible size")
    if kind is str:
        _is_text(data, place)
    return data


def _array(data: Any, arrays: memoryview, place: str) -> NDArray[Any]:
    match data:
        case {"dtype": str(dtype), "shape": list(shape), "at": int(at)} if dtype in _ARRAYS:
            pass
        case _:
            raise Odd(f"{place} is no array")
    sizes = all(type(size) is int and 0 <= size < LARGEST for size in shape)
    _check(sizes and len(shape) <= _MOST_DIMENSIONS, f"{place}.shape", "a list of sizes")
    count = math.prod(shape)
    end = at + count * np.dtype(dtype).itemsize
    _check(0 <= at <= end <= len(arrays), place, "an array inside of the file")
    return np.frombuffer(arrays, dtype, count, at).reshape(shape)


def _is_text(text: str, place: str) -> bool:
    """Raise ``Odd`` for half of a pair of surrogates, which no window shows."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Odd(f"{place} is not valid Unicode") from None
    return True


def _check(is_so: bool, place: str, what: str) -> None:
    if not is_so:
        raise Odd(f"{place} is not {what}")
