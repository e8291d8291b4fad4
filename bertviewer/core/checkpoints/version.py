"""Whether a file is still the one that was opened."""

import os
from io import FileIO
from pathlib import Path

from msgspec import Struct

from bertviewer.core.util.errors import UserError


class FileVersion(Struct, frozen=True):
    """What changes when a file is written anew.

    Attributes:
        modified_ns: when it was last written to, in nanoseconds since 1970.
        changed_ns: when anything of it was changed, its name and place too; on Windows, when it was
            made. Its number on its disk would tell less: some network disks change that unasked.
        nbytes: its size.
    """

    modified_ns: int
    changed_ns: int
    nbytes: int


def version_of(file_number: int) -> FileVersion:
    """Return the version of an open file, by its descriptor."""
    found = os.fstat(file_number)
    return FileVersion(found.st_mtime_ns, found.st_ctime_ns, found.st_size)


def check_version(path: Path, opened: FileIO, expected: FileVersion | None) -> None:
    """Return if an open file is the expected one, or nothing is known of that one.

    It is asked after reading: what was read before is then of that version as well.

    Raises:
        UserError: it was written anew.
    """
    if expected is not None and version_of(opened.fileno()) != expected:
        raise UserError(f"{path}: the file has changed since it was opened; open the model again")
