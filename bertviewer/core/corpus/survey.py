"""What the data are, before any of them is run: digests, how many sentences, what is left out."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bertviewer.core.corpus.records import Record, records
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import sha256_of
from bertviewer.core.util.progress import Progress, no_progress

MOST_IN_A_ROW = 1_000_000
"""A file with so many records one after the other that cannot be read is refused."""
MOST_TOLD = 10
"""So many of the bad lines of a file are told one by one."""


class LeftOut(Struct, frozen=True):
    """A record that could not be read: its place, and why."""

    where: str
    problem: str


class DataFile(Struct, frozen=True):
    """A file of the data.

    Attributes:
        path: where it is.
        name: what it is called: no folder, so that results do not hang on one.
        sha256: of its bytes.
        size: how many there are.
        changed: when it was changed, in nanoseconds.
        sentences: how many texts are taken from it.
        left_out: how many records are not.
        first_left_out: the first of these.
    """

    path: Path
    name: str
    sha256: str
    size: int
    changed: int
    sentences: int
    left_out: int
    first_left_out: tuple[LeftOut, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "bytes": self.size,
            "sentences": self.sentences,
            "left_out": self.left_out,
            "first_left_out": [[one.where, one.problem] for one in self.first_left_out],
        }

    def check_unchanged(self) -> None:
        """Return if the file is what it was.

        Raises:
            UserError: it is gone, or another one.
        """
        try:
            now = self.path.stat()
        except OSError as error:
            raise UserError(f"{self.name}: {error.strerror or error}") from error
        if (now.st_size, now.st_mtime_ns) != (self.size, self.changed):
            raise UserError(f"{self.name}: the file changed while it was being read")


def survey(
    paths: Sequence[tuple[Path, str]],
    column: str | None,
    limit: int | None = None,
    progress: Progress = no_progress,
) -> tuple[DataFile, ...]:
    """Read all data once. ``paths`` have the names of the files; ``limit`` is of all sentences.

    Raises:
        UserError: a file cannot be read, is empty, or none has a sentence.
        Cancelled: by ``progress``.
    """
    files: list[DataFile] = []
    left = limit
    for path, name in paths:
        file = _surveyed(path, name, column, left, progress)
        files.append(file)
        if left is not None:
            left -= file.sentences
    if not any(file.sentences for file in files):
        first = next((one for file in files for one in file.first_left_out), None)
        why = "" if first is None else f"; {first.where}: {first.problem}"
        raise UserError(f"{', '.join(file.name for file in files)}: there is no sentence{why}")
    return tuple(files)


def sentences(
    files: Sequence[DataFile],
    column: str | None,
    first: int,
    last: int,
    progress: Progress = no_progress,
) -> Iterator[str]:
    """Yield the texts from number ``first`` up to ``last``, without it.

    Raises:
        UserError: a file is not what it was.
        Cancelled: by ``progress``.
    """
    start = 0
    for file in files:
        if start < last and start + file.sentences > first:
            file.check_unchanged()
            number = start
            for record in records(file.path, column, file.name, progress):
                if record.text is None:
                    continue
                if first <= number < last:
                    yield record.text
                number += 1
                if number >= min(last, start + file.sentences):
                    break
            file.check_unchanged()
            if number < min(last, start + file.sentences):
                raise UserError(f"{file.name}: the file changed while it was being read")
        start += file.sentences


def _surveyed(
    path: Path, name: str, column: str | None, limit: int | None, progress: Progress
) -> DataFile:
    try:
        found = path.stat()
        if not path.is_file():
            what = "a folder" if path.is_dir() else "not a regular file"
            raise UserError(f"{name}: it is {what}; give a file, or - for standard input")
        if not found.st_size:
            raise UserError(f"{name}: the file is empty")
    except OSError as error:
        raise UserError(f"{name}: {error.strerror or error}") from error
    count, bad, in_a_row, first = 0, 0, 0, list[LeftOut]()
    for record in _limited(records(path, column, name, progress), limit):
        if record.text is not None:
            count += 1
            in_a_row = 0
            continue
        bad += 1
        in_a_row += 1
        if in_a_row > MOST_IN_A_ROW:
            raise UserError(
                f"{name}: more than {MOST_IN_A_ROW:,} records one after the other cannot be read; "
                f"{record.where}: {record.problem}"
            )
        if len(first) < MOST_TOLD:
            first.append(LeftOut(record.where, record.problem))
    digest = sha256_of(path, progress)  # of a file that can be read: it may be very large
    return DataFile(path, name, digest, found.st_size, found.st_mtime_ns, count, bad, tuple(first))


def _limited(found: Iterator[Record], limit: int | None) -> Iterator[Record]:
    """Yield records up to the last sentence that is taken."""
    count = 0
    if limit is not None and limit <= 0:
        return
    for record in found:
        yield record
        count += record.text is not None
        if count == limit:
            return
