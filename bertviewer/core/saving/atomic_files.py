"""Writes files so that a failure leaves the old one as it was, and never over a model's own."""

import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from bertviewer.core.saving.model_files import check_no_model_file
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.files import unfinished

PREFIX = ".bertviewer-"


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# It can only be read by setting it, for the whole process: so here, before there are threads.
UMASK = _read_umask()


def check_writable(path: Path, models: Iterable[ModelSource]) -> None:
    """Return if a person can have a file saved at ``path`` while these models are open.

    Raises:
        UserError: it cannot be written, with the reason, or is a file of one of the models.
    """
    path = followed(path)
    check_no_model_file(path, models)
    try:
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise UserError(f"cannot write {path}: it is a folder")
        if mode is not None and not stat.S_ISREG(mode):
            raise UserError(f"cannot write {path}: it is {NOT_REGULAR}")
        if not path.parent.is_dir():
            raise UserError(f"cannot write {path}: no such folder: {path.parent}")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX):
            pass
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {path}: {reason(error)}") from error


def save(path: Path, content: bytes | Iterable[bytes], models: Iterable[ModelSource]) -> None:
    """Write what a person asked for, as ``write_atomically`` does, while these models are open.

    Raises:
        UserError: ``path`` is a file of one of the models, or cannot be written.
    """
    check_no_model_file(followed(path), models)
    write_atomically(path, content)


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file of the program's own; what a person wants written goes through ``save``.

    ``content`` goes to a sibling file, is flushed to the disk, and renamed to ``path``. Large
    content comes in pieces; what they raise when they are made goes on to the caller.

    Raises:
        UserError: the folder or the disk does not take it; an older file is left as it was.
    """
    path = followed(path)
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX, delete=False) as file:
            temporary = Path(file.name)
            with unfinished(temporary):
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
            raise UserError(f"cannot write {path}: {reason(error)}") from error
        raise


def followed(path: Path) -> Path:
    """Follow links, so that what they point to is replaced and not the link.

    Raises:
        UserError: they lead nowhere, or in a circle.
    """
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"cannot write {path!r}: {error}") from error


def _mode(path: Path) -> int | None:
    """Return what is at a path; ``None`` if nothing is.

    Raises:
        OSError, ValueError: no file can be there, as where the name is too long.
    """
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def reason(error: OSError | ValueError) -> str:
    """Return why a file could not be written."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
