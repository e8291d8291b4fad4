"""Writes files so that a failure leaves the old one as it was."""

import os
import tempfile
from pathlib import Path

from bertviewer.core.errors import UserError


def check_writable(path: Path) -> None:
    """Return if a file can be written at ``path``.

    Raises:
        UserError: it cannot, with the reason.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}."):
            pass
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {path}: {_reason(error)}") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write ``content`` to a sibling file, flush it to the disk, and rename it to ``path``.

    Raises:
        UserError: the folder or the disk does not take it; an older file is left as it was.
    """
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; a report gets the usual permissions.
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except (OSError, ValueError) as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {_reason(error)}") from error


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
