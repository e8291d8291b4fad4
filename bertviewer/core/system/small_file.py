"""Reads a stranger's small file whole, once it is known to be one."""

from pathlib import Path

from bertviewer.core.errors import NOT_REGULAR, UserError


def read_small_file(path: Path, most: int, what: str) -> bytes:
    """Return a file's content; ``most`` is how many bytes it may have, as ``what`` in messages.

    What is no file is not even opened: a pipe would wait for a writer, a device never end.

    Raises:
        UserError: it is no regular file, too large, or cannot be read.
    """
    try:
        if path.stat().st_size > most:
            raise UserError(f"{path}: too large for {what}")
        if not path.is_file():
            raise UserError(f"{path}: {NOT_REGULAR}")
        with path.open("rb") as file:
            # Some files of the system say that they are empty, and are not.
            content = file.read(most + 1)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    if len(content) > most:
        raise UserError(f"{path}: too large for {what}")
    return content
