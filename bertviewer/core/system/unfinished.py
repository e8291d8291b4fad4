"""Files and folders that are there only until something is done, and what becomes of them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_there: set[Path] = set()


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
