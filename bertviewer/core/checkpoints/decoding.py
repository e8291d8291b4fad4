"""Stored bytes to numbers. numpy knows neither bfloat16 nor float8: their bits are taken apart."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]

_PLAIN: Mapping[str, str] = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
}


def decode(raw: bytes | bytearray | memoryview, dtype: str) -> Values:
    """Return the elements that little-endian bytes hold, by safetensors' name of their dtype.

    Floats of 16 and of 8 bits become float32, which holds each of their values exactly; all
    others keep their type.
    """
    if dtype in _PLAIN:
        return np.frombuffer(raw, _PLAIN[dtype])
    if dtype == "F16":
        return np.frombuffer(raw, "<f2").astype(np.float32)
    if dtype == "BF16":
        # The upper half of a float32.
        wide = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
        return wide.view(np.float32)
    if dtype == "F8_E4M3":
        found: Values = _E4M3[np.frombuffer(raw, np.uint8)]
        return found
    if dtype == "F8_E5M2":
        # The upper half of a float16.
        halves = np.frombuffer(raw, np.uint8).astype(np.uint16) << 8
        return halves.view(np.float16).astype(np.float32)
    if dtype == "BOOL":
        flags: Values = np.frombuffer(raw, np.uint8) != 0
        return flags
    raise ValueError(f"unknown dtype {dtype!r}")


def encode(values: Values, dtype: str) -> bytes:
    """Return elements as ``decode`` takes them: bytes of this dtype, by safetensors' name."""
    if dtype == "BF16":
        return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    if dtype == "F16":
        return values.astype("<f2").tobytes()
    if dtype == "BOOL":
        return values.astype(np.uint8).tobytes()
    return values.astype(_PLAIN[dtype]).tobytes()


def rounded(values: Values, dtype: str) -> Values:
    """Return floats as torch rounds them to a dtype, by its name; bfloat16 as float32.

    Other values, and those of other dtypes, are returned unchanged.
    """
    if values.dtype.kind != "f" or dtype not in ("float32", "float16", "bfloat16"):
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
        if dtype != "bfloat16":
            return values.astype(np.float16) if dtype == "float16" else single
    bits = single.view(np.uint32)
    # To nearest, ties to even; what is not finite has no fraction to carry into the exponent.
    upper = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isfinite(single), upper.view(np.float32), single)


def _e4m3_table() -> NDArray[np.float32]:
    """Return the values of all bytes: a sign, 4 bits of exponent, 3 of fraction (arXiv 2209.05433).

    The exponent's bias is 7. There is no infinity; exponent and fraction all ones are NaN.
    """
    bits = np.arange(256)
    sign = np.where(bits & 0x80, -1.0, 1.0)
    exponent, fraction = (bits >> 3) & 0xF, (bits & 0x7) / 8
    size = np.where(exponent == 0, fraction * 2.0**-6, (1 + fraction) * 2.0 ** (exponent - 7.0))
    size[(bits & 0x7F) == 0x7F] = np.nan
    return (sign * size).astype(np.float32)


_E4M3 = _e4m3_table()
