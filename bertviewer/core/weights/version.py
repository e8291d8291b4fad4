"""Whether a file is still the one that was opened."""

import os
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from bertviewer.core.errors import UserError


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What changes when a file is written anew.

    Attributes:
        modified_ns: when it was last written to, in nanoseconds since 1970.
        nbytes: its size. The number of a file on its disk is left out: some network disks change it
            while nobody writes.
    """

    modified_ns: int
    nbytes: int


def version_of(file_number: int) -> FileVersion:
    """Return the version of an open file, by its descriptor."""
    found = os.fstat(file_number)
    return FileVersion(found.st_mtime_ns, found.st_size)


def check_version(path: Path, opened: FileIO, expected: FileVersion | None) -> None:
    """Return if an open file is the expected one, or nothing is known of that one.

    It is asked after reading: what was read before is then of that version as well.

    Raises:
        UserError: it was written anew.
    """
    if expected is not None and version_of(opened.fileno()) != expected:
        raise UserError(f"{path}: the file has changed since it was opened; open the model again")
