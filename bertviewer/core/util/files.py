"""Files: strangers' small ones, digests of large ones, and those that are there for a while."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.progress import Progress

BLOCK = 4_000_000
"""Bytes that are read at once for a digest."""

_there: set[Path] = set()


def read_small_file(path: Path, most: int, what: str) -> bytes:
    """Return a file's content; ``most`` is how many bytes it may have, as ``what`` in messages.

    What is no file is not even opened: a pipe would wait for a writer, a device never end.

    Raises:
        UserError: it is no regular file, too large, or cannot be read.
    """
    try:
        size = path.stat().st_size
        if size > most:
            raise UserError(f"{path}: too large for {what}")
        if not path.is_file():
            raise UserError(f"{path}: {NOT_REGULAR}")
        with path.open("rb") as file:
            # Some files of the system say that they are empty, and are not. Room for all that is
            # asked for is taken at once.
            content = file.read((size or most) + 1)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    if len(content) > most:
        raise UserError(f"{path}: too large for {what}")
    return content


def sha256_of(file: Path, progress: Progress) -> str:
    """Return the digest of a file's content.

    Raises:
        UserError: it cannot be read.
        Cancelled: by ``progress``.
    """
    import hashlib  # nothing is digested at the start

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


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Have a file or folder taken away if the program is left before this is over."""
    _there.add(path)
    try:
        yield
    finally:
        _there.discard(path)


def take_unfinished_away() -> None:
    """Remove what threads are still writing; for a program that does not wait for them."""
    for path in tuple(_there):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)
