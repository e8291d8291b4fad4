"""Writes files so that a failure leaves the old one as it was."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from bertviewer.core.errors import UserError

PREFIX = ".bertviewer-"


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# It can only be read by setting it, for the whole process: so here, before there are threads.
UMASK = _read_umask()


def check_writable(path: Path) -> None:
    """Return if a file can be written at ``path``.

    Raises:
        UserError: it cannot, with the reason.
    """
    path = _followed(path)
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    if path.exists() and not path.is_file():
        raise UserError(f"cannot write {path}: it is not a regular file")
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX):
            pass
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {path}: {_reason(error)}") from error


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write ``content`` to a sibling file, flush it to the disk, and rename it to ``path``.

    Large content comes in pieces; what they raise when they are made goes on to the caller.

    Raises:
        UserError: the folder or the disk does not take it; an older file is left as it was.
    """
    path = _followed(path)
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX, delete=False) as file:
            temporary = Path(file.name)
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; a report gets the usual permissions.
        temporary.chmod(0o666 & ~UMASK)
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError | ValueError):
            raise UserError(f"cannot write {path}: {_reason(error)}") from error
        raise


def _followed(path: Path) -> Path:
    """Follow links, so that what they point to is replaced and not the link."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"cannot write {path!r}: {error}") from error


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
