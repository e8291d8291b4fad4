"""How much memory a model needs, and whether it is there."""

import ctypes
import os
from pathlib import Path

from bertviewer.core.util.errors import UserError

MEMINFO = Path("/proc/meminfo")
STATM = Path("/proc/self/statm")
# Weights are in float32 when they are drawn; activations and the allocator want some room beside.
ROOM = 1.15
BYTES_PER_PARAMETER = 4 * ROOM


def available_memory() -> int | None:
    """Return the bytes that can be had without swapping, ``None`` where the system does not say."""
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return None


def resident_memory() -> int | None:
    """Return the bytes of this process that are in memory, ``None`` where that is not known."""
    try:
        fields = STATM.read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def fits(needed: float) -> bool:
    """Tell whether so many bytes are free, as far as that is known."""
    available = _available(needed)
    return available is None or needed <= available


def _available(needed: float) -> int | None:
    """Return the free bytes, and where these do not do, with what the process holds for nothing.

    glibc keeps the memory of a model that is gone for the next, and so the system calls it used.
    """
    available = available_memory()
    trim = None if available is None else getattr(ctypes.CDLL(None), "malloc_trim", None)
    if available is None or needed <= available or trim is None:
        return available
    trim(0)
    return available_memory()


def shortage(needed: float) -> str:
    """Return how many bytes weights need, and how many are free."""
    return (
        f"its weights need {needed / 1e9:.1f} GB of memory, but only "
        f"{(available_memory() or 0) / 1e9:.1f} GB are free"
    )


def check_attention_memory(tokens: int, heads: int, name: str) -> None:
    """Return if the attention of so many tokens fits into memory, in float32 and one layer at once.

    Scores and a bias of their size, as T5's, are [heads, tokens, tokens] each.

    Raises:
        UserError: it does not, with both sizes.
    """
    needed = 2 * 4 * heads * tokens**2
    available = _available(needed)
    if available is not None and needed > available:
        raise UserError(
            f"{name}: the attention of {tokens:,} tokens needs {needed / 1e9:.1f} GB of memory, "
            f"but only {available / 1e9:.1f} GB are free; use a shorter text"
        )
