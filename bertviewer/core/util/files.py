"""Files: bounded reads, digests, removal at exit, and the program's resources."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from bertviewer.core.util.errors import NOT_REGULAR, UserError, error_reason
from bertviewer.core.util.progress import Progress

BLOCK = 4_000_000
"""Bytes of one read while hashing."""

_unfinished: set[Path] = set()  # of the whole process, which removes them when it exits


def read_small_file(path: Path, max_bytes: int, what: str) -> bytes:
    """Return the content of a file of at most ``max_bytes``; ``what`` is its name in messages.

    Only regular files are opened: a pipe would block, a device might never end.

    Raises:
        UserError: it is not a regular file, too large, or cannot be read.
    """
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise UserError(f"{path}: too large for {what}")
        if not path.is_file():
            raise UserError(f"{path}: {NOT_REGULAR}")
        with path.open("rb") as file:
            # Files in /proc have content and size 0. read() allocates as much as it is asked for.
            content = file.read((size or max_bytes) + 1)
    except OSError as error:
        raise UserError(f"{path}: {error_reason(error)}") from error
    if len(content) > max_bytes:
        raise UserError(f"{path}: too large for {what}")
    return content


def sha256_of(file: Path, progress: Progress) -> str:
    """Return the SHA-256 of a file's content in hexadecimal.

    Raises:
        UserError: it cannot be read.
        Cancelled: by ``progress``.
    """
    import hashlib  # OpenSSL, which the start does not need

    digest = hashlib.sha256()
    try:
        size = max(file.stat().st_size, 1)
        with file.open("rb") as opened:
            while block := opened.read(BLOCK):
                digest.update(block)
                progress(min(1000 * opened.tell() // size, 1000), 1000, f"Hashing {file.name}")
    except OSError as error:
        raise UserError(f"{file}: {error_reason(error)}") from error
    return digest.hexdigest()


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Register a file or folder that ``remove_unfinished`` removes if the program exits inside."""
    _unfinished.add(path)
    try:
        yield
    finally:
        _unfinished.discard(path)


def remove_unfinished() -> None:
    """Remove what other threads are still writing, for a program that exits without them."""
    for path in tuple(_unfinished):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)


@cache
def resources_folder() -> Path:
    """Return the folder ``resources``, of a checkout or of an installed wheel.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "resources", package.parent / "resources"):
        if (folder / "presets").is_dir():
            return folder
    raise FileNotFoundError(f"the resource folder of {package} is missing")
