"""Writes a file with a folder beside it, as one: both are the new ones, or both the old."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from bertviewer.core.saving.atomic_files import PREFIX, UMASK, followed, reason, save
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError


class Beside(Struct, frozen=True):
    """A folder beside a file.

    Attributes:
        name: of the folder.
        files: what it is to hold, by their names.
        known: what the names of files in it are like: one that has others is somebody's own.
        replaced: those that are written anew; the other known ones stay.
    """

    name: str
    files: Mapping[str, bytes]
    known: re.Pattern[str]
    replaced: re.Pattern[str]


def check_folder(path: Path, known: re.Pattern[str]) -> None:
    """Return if a folder can be written: there is none, or only known files are in it.

    Raises:
        UserError: it is somebody's own, or cannot be looked into.
    """
    try:
        names = [entry.name for entry in path.iterdir()] if path.exists() else []
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {path}: {reason(error)}") from error
    other = next((name for name in sorted(names) if not known.fullmatch(name)), None)
    if other is not None:
        raise UserError(f"cannot write {path}: the folder contains another file, {other}")


def save_with_folder(
    path: Path, content: bytes, beside: Beside, models: Iterable[ModelSource]
) -> None:
    """Write a file and the folder beside it while these models are open.

    The folder is made under a temporary name and changes places with the old one; if then the file
    cannot be written, the old one comes back.

    Raises:
        UserError: one of them cannot be written; then both are as they were.
    """
    parent = followed(path).parent
    folder = parent / beside.name
    check_folder(folder, beside.known)
    made: Path | None = None
    try:
        made = Path(tempfile.mkdtemp(dir=parent, prefix=PREFIX))
        _fill(made, folder, beside)
    except BaseException as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError | ValueError):
            raise UserError(f"cannot write {folder}: {reason(error)}") from error
        raise
    _exchange(made, folder, lambda: save(path, content, models))


def _fill(made: Path, old: Path, beside: Beside) -> None:
    """Write the new files, and take those of the old folder along that are not replaced."""
    for name, content in beside.files.items():
        with (made / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    for entry in old.iterdir() if old.exists() else ():
        if not beside.replaced.fullmatch(entry.name):
            shutil.copyfile(entry, made / entry.name)
    for entry in made.iterdir():
        entry.chmod(0o666 & ~UMASK)
    made.chmod(0o777 & ~UMASK)


def _exchange(made: Path, folder: Path, write: Callable[[], None]) -> None:
    """Put the new folder in the old one's place and write the file; undo it if that fails."""
    old = made.with_name(f"{made.name}-old")
    try:
        try:
            if folder.exists():
                folder.rename(old)
            if any(made.iterdir()):
                made.rename(folder)
        except OSError as error:
            raise UserError(f"cannot write {folder}: {reason(error)}") from error
        write()
    except BaseException:
        if not made.exists():
            shutil.rmtree(folder)  # it is the new one
        if old.exists():
            old.rename(folder)
        shutil.rmtree(made, ignore_errors=True)
        raise
    for rest in (old, made):
        shutil.rmtree(rest, ignore_errors=True)
