"""How much memory this process has, to see whether it grows."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

STATM = Path("/proc/self/statm")


def resident_memory() -> int:
    """Return the bytes of this process that are in memory; 0 where the system does not say."""
    try:
        fields = STATM.read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


class Most(Struct):
    """The most bytes that were in memory at once; 0 where the system does not say."""

    bytes: int = 0


@contextmanager
def most_memory() -> Iterator[Most]:
    """Find out the most memory that this process has inside the ``with``."""
    most = Most()
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        yield most
        return
    yield most
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    most.bytes = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
