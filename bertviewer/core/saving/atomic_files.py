"""Atomic writes: a failure leaves the old file as it was. Never over a model's own files.

Also a file with a folder next to it, which are replaced together.
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from bertviewer.core.saving.model_files import check_no_model_file
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import NOT_REGULAR, UserError, error_reason
from bertviewer.core.util.files import unfinished

PREFIX = ".bertviewer-"
"""Of the names of temporary files."""


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# It can only be read by setting it, for the whole process: done here, before there are threads.
UMASK = _read_umask()


class SidecarFolder(Struct, frozen=True):
    """A folder next to a file.

    Attributes:
        name: of the folder.
        files: contents by name.
        known: pattern of names that the folder may contain; with others it is the user's own.
        replaced: pattern of names that are removed if they are not in ``files``.
    """

    name: str
    files: Mapping[str, bytes]
    known: re.Pattern[str]
    replaced: re.Pattern[str]


def check_writable(path: Path, models: Iterable[ModelSource]) -> None:
    """Check that the user can save a file at ``path`` while these models are open.

    Raises:
        UserError: it cannot be written, with the reason, or is a file of one of the models.
    """
    path = resolved(path)
    check_no_model_file(path, models)
    try:
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = stat.S_IFREG
        if stat.S_ISDIR(mode):
            raise UserError(f"cannot write {path}: it is a folder")
        if not stat.S_ISREG(mode):
            raise UserError(f"cannot write {path}: it is {NOT_REGULAR}")
        if not path.parent.is_dir():
            raise UserError(f"cannot write {path}: no such folder: {path.parent}")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX):
            pass
    except (OSError, ValueError) as error:
        raise _write_error(path, error) from error


def check_folder(path: Path, known: re.Pattern[str]) -> None:
    """Check that a folder does not exist, or contains only files with known names.

    Raises:
        UserError: it contains others, or cannot be listed.
    """
    try:
        names = [entry.name for entry in path.iterdir()] if path.exists() else []
    except (OSError, ValueError) as error:
        raise _write_error(path, error) from error
    other = next((name for name in sorted(names) if not known.fullmatch(name)), None)
    if other is not None:
        raise UserError(f"cannot write {path}: the folder contains another file, {other}")


def save(path: Path, content: bytes | Iterable[bytes], models: Iterable[ModelSource]) -> None:
    """Write a file that the user asked for atomically, while these models are open.

    Raises:
        UserError: ``path`` is a file of one of the models, or cannot be written.
    """
    check_no_model_file(resolved(path), models)
    write_atomically(path, content)


def save_with_folder(
    path: Path, content: bytes, folder: SidecarFolder, models: Iterable[ModelSource]
) -> None:
    """Write a file and the folder next to it atomically, while these models are open.

    The folder is written under a temporary name and swapped with the old one; if the file then
    cannot be written, they are swapped back.

    Raises:
        UserError: one of them cannot be written; then both are as they were.
    """
    target = resolved(path).parent / folder.name
    check_folder(target, folder.known)
    temporary: Path | None = None
    try:
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=PREFIX))
        _fill(temporary, target, folder)
    except BaseException as error:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError | ValueError):
            raise _write_error(target, error) from error
        raise
    _swap(temporary, target, lambda: save(path, content, models))


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file of the program itself; what the user asked for goes through ``save``.

    ``content`` is written to a temporary file in the same folder, flushed to the disk, and renamed
    to ``path``. An iterable yields pieces; what it raises is passed on.

    Raises:
        UserError: the folder or the disk refuses it; an older file is left as it was.
    """
    path = resolved(path)
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX, delete=False) as file:
            temporary = Path(file.name)
            with unfinished(temporary):
                file.writelines([content] if isinstance(content, bytes) else content)
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o666 & ~UMASK)  # temporary files are private
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError | ValueError):
            raise _write_error(path, error) from error
        raise


def resolved(path: Path) -> Path:
    """Resolve links, so that a link's target is replaced and not the link.

    Raises:
        UserError: they form a loop, or the path is invalid.
    """
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"cannot write {path!r}: {error}") from error


def _write_error(path: Path, error: OSError | ValueError) -> UserError:
    return UserError(f"cannot write {path}: {error_reason(error)}")


def _fill(new: Path, old: Path, folder: SidecarFolder) -> None:
    """Write the new files, and copy those of the old folder that are not replaced."""
    for name, content in folder.files.items():
        with (new / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    for entry in old.iterdir() if old.exists() else ():
        if not folder.replaced.fullmatch(entry.name):
            shutil.copyfile(entry, new / entry.name)
    for entry in new.iterdir():
        entry.chmod(0o666 & ~UMASK)
    new.chmod(0o777 & ~UMASK)


def _swap(new: Path, target: Path, write: Callable[[], None]) -> None:
    """Replace a folder, unless the new one is empty, and write the file; undo it if that fails."""
    old = new.with_name(f"{new.name}-old")
    try:
        try:
            if target.exists():
                target.rename(old)
            if any(new.iterdir()):
                new.rename(target)
        except OSError as error:
            raise _write_error(target, error) from error
        write()
    except BaseException:
        if not new.exists():
            shutil.rmtree(target)  # the new one
        if old.exists():
            old.rename(target)
        shutil.rmtree(new, ignore_errors=True)
        raise
    for rest in (old, new):
        shutil.rmtree(rest, ignore_errors=True)
