"""Memory: how much is free or in use, whether something fits, and pausing the garbage collector."""

import ctypes
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
STATM = Path("/proc/self/statm")
MEMORY_FACTOR = 1.15
"""Memory for weights, activations and the allocator, as a multiple of the weights."""
BYTES_PER_PARAMETER = 4 * MEMORY_FACTOR
"""Of random weights, which are float32."""

# Both belong to the whole process, like the collector.
_pause_lock = threading.Lock()
_pauses = 0
_was_enabled = True


def available_memory() -> int | None:
    """Return the bytes that are available without swapping, ``None`` if unknown."""
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
    """Return this process's resident set size in bytes, ``None`` if unknown."""
    try:
        values = STATM.read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(values[1]) * os.sysconf("SC_PAGE_SIZE")


def fits(needed: float) -> bool:
    """Return whether this many bytes are available; true if that is unknown."""
    available = available_memory()
    if available is None or needed <= available:
        return True
    # glibc keeps freed memory, such as that of a closed model, for later allocations.
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is None:
        return False
    trim(0)
    return needed <= (available_memory() or 0)


def shortage(what: str, needed: float) -> str:
    """Return the message that ``what``, such as "its weights need", exceeds the free memory."""
    free = available_memory() or 0
    return f"{what} {needed / 1e9:.1f} GB of memory, but only {free / 1e9:.1f} GB are free"


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause cyclic garbage collection during bulk allocation, in all threads.

    Collections are triggered by the number of new objects and visit all objects: with a thousand
    layers in memory they take longer than reading the model. The last thread inside resumes it.
    """
    global _pauses, _was_enabled  # noqa: PLW0603 - the collector's state is the process's
    with _pause_lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
        _pauses += 1
        gc.disable()
    try:
        yield
    finally:
        with _pause_lock:
            _pauses -= 1
            if not _pauses and _was_enabled:
                gc.enable()
