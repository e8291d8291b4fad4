"""The SHA-256 of a large file, with a word on how far it is."""

import hashlib
from pathlib import Path

from bertviewer.core.errors import UserError
from bertviewer.core.progress import Progress

BLOCK = 4_000_000


def sha256_of(file: Path, progress: Progress) -> str:
    """Return the digest of a file's content.

    Raises:
        UserError: it cannot be read.
        Cancelled: by ``progress``.
    """
    found = hashlib.sha256()
    try:
        size = max(file.stat().st_size, 1)
        with file.open("rb") as opened:
            while block := opened.read(BLOCK):
                found.update(block)
                progress(min(1000 * opened.tell() // size, 1000), 1000, f"Hashing {file.name}")
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error
    return found.hexdigest()
