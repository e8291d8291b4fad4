"""Memory that this process has, now and at most."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bertviewer.core.util import memory


def resident_memory() -> int:
    """Return this process's resident set size in bytes; 0 if unknown."""
    return memory.resident_memory() or 0


class Most(Struct):
    """Peak resident set size in bytes; 0 if unknown."""

    bytes: int = 0


@contextmanager
def most_memory() -> Iterator[Most]:
    """Measure the peak resident set size inside the ``with``."""
    most = Most()
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        yield most
        return
    yield most
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    most.bytes = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
