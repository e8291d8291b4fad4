"""Data files of a corpus: scanning them before a run, and reading ranges of sentences."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bertviewer.core.corpus.records import Record, records
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import sha256_of
from bertviewer.core.util.progress import Progress, no_progress

MAX_IN_A_ROW = 1_000_000
"""A file with more consecutive invalid records is refused."""
MAX_LISTED = 10
"""Invalid records of a file that are listed."""


class InvalidRecord(Struct, frozen=True):
    """An invalid record: its place, and why."""

    where: str
    problem: str


class DataFile(Struct, frozen=True):
    """A data file.

    Attributes:
        path: path of the file.
        name: name without a folder, as results do not depend on that.
        sha256: digest of its content.
        size: size in bytes.
        changed: modification time in nanoseconds.
        sentences: number of valid records.
        invalid: number of invalid records.
        first_invalid: the first invalid records.
    """

    path: Path
    name: str
    sha256: str
    size: int
    changed: int
    sentences: int
    invalid: int
    first_invalid: tuple[InvalidRecord, ...]

    def to_json(self) -> dict[str, Any]:
        """Return its entry in the manifest."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "bytes": self.size,
            "sentences": self.sentences,
            "left_out": self.invalid,
            "first_left_out": [[one.where, one.problem] for one in self.first_invalid],
        }

    def check_unchanged(self) -> None:
        """Check that the file was not changed.

        Raises:
            UserError: it is gone or changed.
        """
        try:
            now = self.path.stat()
        except OSError as error:
            raise UserError(f"{self.name}: {error.strerror or error}") from error
        if (now.st_size, now.st_mtime_ns) != (self.size, self.changed):
            raise UserError(f"{self.name}: the file changed while it was being read")


def scan(
    paths: Sequence[tuple[Path, str]],
    column: str | None,
    limit: int | None = None,
    progress: Progress = no_progress,
) -> tuple[DataFile, ...]:
    """Read all files, given by path and name; ``limit`` is the maximum number of sentences.

    Raises:
        UserError: a file cannot be read or is empty, or none has a sentence.
        Cancelled: by ``progress``.
    """
    files: list[DataFile] = []
    remaining = limit
    for path, name in paths:
        file = _scan_file(path, name, column, remaining, progress)
        files.append(file)
        if remaining is not None:
            remaining -= file.sentences
    if not any(file.sentences for file in files):
        first = next((one for file in files for one in file.first_invalid), None)
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
    """Yield the texts from number ``first`` to before ``last``.

    Raises:
        UserError: a file was changed.
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


def _scan_file(
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
    count, bad, in_a_row, first = 0, 0, 0, list[InvalidRecord]()
    for record in _limited(records(path, column, name, progress), limit):
        if record.text is not None:
            count += 1
            in_a_row = 0
            continue
        bad += 1
        in_a_row += 1
        if in_a_row > MAX_IN_A_ROW:
            raise UserError(
                f"{name}: more than {MAX_IN_A_ROW:,} records one after the other cannot be read; "
                f"{record.where}: {record.problem}"
            )
        if len(first) < MAX_LISTED:
            first.append(InvalidRecord(record.where, record.problem))
    digest = sha256_of(path, progress)  # last, as the file may be very large
    return DataFile(path, name, digest, found.st_size, found.st_mtime_ns, count, bad, tuple(first))


def _limited(found: Iterator[Record], limit: int | None) -> Iterator[Record]:
    """Yield records until ``limit`` valid ones."""
    count = 0
    if limit is not None and limit <= 0:
        return
    for record in found:
        yield record
        count += record.text is not None
        if count == limit:
            return
