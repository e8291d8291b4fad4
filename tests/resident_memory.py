"""How much memory this process has, to see whether it grows."""

import os
from pathlib import Path

STATM = Path("/proc/self/statm")


def resident_memory() -> int:
    """Return the bytes of this process that are in memory; 0 where the system does not say."""
    try:
        fields = STATM.read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
