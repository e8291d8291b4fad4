"""The texts in files, one after another: lines, JSONL, CSV and Parquet, any of them gzipped.

A record is numbered whether it can be read or not: what is bad in one of them costs that one.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from bertviewer.core.activations.text import MAX_CHARACTERS
from bertviewer.core.errors import UserError
from bertviewer.core.frozen import frozen
from bertviewer.core.system.extras import extra_advice

COLUMN = "text"
"""The column that is read where none is named."""
STDIN = "-"
MOST_BYTES = 64_000_000
"""A longer line is no sentence, and would fill the memory."""
ROWS = 1024
"""So many rows of a Parquet file are in memory."""

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_JSON, _CSV, _TSV = (".jsonl", ".ndjson", ".json"), (".csv",), (".tsv", ".tab")


@frozen
class Record:
    """One text of a file.

    Attributes:
        where: its place in words, as "line 3".
        text: what is to be read, ``None`` where that is bad.
        problem: what is bad about it.
    """

    where: str
    text: str | None
    problem: str = ""


def records(path: Path, column: str | None, name: str | None = None) -> Iterator[Record]:
    """Yield the records of a file; ``name`` is what it is called in messages.

    Raises:
        UserError: it cannot be read, has no such column, or ends in the middle of something.
    """
    name = str(path) if name is None else name
    try:
        with path.open("rb") as file:
            yield from _records_of(file, _kind(path, name, column), column or COLUMN, name)
    except (OSError, EOFError, zlib.error) as error:
        why = "its gzip data are cut off or broken" if _is_gzip(error) else _reason(error)
        raise UserError(f"{name}: {why}") from error


def _is_gzip(error: Exception) -> bool:
    return isinstance(error, EOFError | zlib.error | gzip.BadGzipFile)


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _kind(path: Path, name: str, column: str | None) -> str:
    if name == STDIN:
        return "text" if column is None else _JSON[0]
    plain = Path(path.name.removesuffix(".gz"))
    return plain.suffix.lower() or "text"


def _records_of(file: IO[bytes], kind: str, column: str, name: str) -> Iterator[Record]:
    head = file.read(4)
    file.seek(0)
    if head == _PARQUET:
        yield from _parquet(file, column, name)
        return
    if head.startswith(_GZIP):
        packed = gzip.GzipFile(fileobj=file)
        head = packed.peek(len(_PARQUET))[: len(_PARQUET)]
        if head == _PARQUET:
            raise UserError(f"{name}: a Parquet file is packed by itself; unpack it first")
        lines = _lines(packed)
    else:
        lines = _lines(file)
    if head.startswith(_UTF16):
        raise UserError(f"{name}: its text is UTF-16; save it as UTF-8")
    if kind in _JSON:
        yield from _jsonl(lines, column, name)
    elif kind in (*_CSV, *_TSV):
        yield from _csv(lines, column, name, "\t" if kind in _TSV else ",")
    else:
        for number, line, problem in lines:
            yield _checked(f"line {number}", line, problem)


Line = tuple[int, str | None, str]
"""Its number from 1, its text without the end, and what is bad about it."""


def _lines(file: Any) -> Iterator[Line]:
    """Yield the lines, which end in LF, CRLF, or in CR alone."""
    number = 0
    while read := file.readline(MOST_BYTES):
        if len(read) == MOST_BYTES and not read.endswith(b"\n"):
            while (rest := file.readline(MOST_BYTES)) and not rest.endswith(b"\n"):
                pass
            number += 1
            yield number, None, "it is too long"
            continue
        if not number:
            read = read.removeprefix(b"\xef\xbb\xbf")
        for line in read.rstrip(b"\r\n").split(b"\r"):
            number += 1
            try:
                yield number, line.decode(), ""
            except UnicodeDecodeError:
                yield number, None, "it is not UTF-8"


def _checked(where: str, text: Any, problem: str = "") -> Record:
    """Return a record of what was found, which may be no text that a tokenizer takes."""
    if not problem:
        if not isinstance(text, str):
            problem = "it is no text"
        elif not text.strip():
            problem = "it is empty"
        elif len(text) > MAX_CHARACTERS:
            problem = f"it has more than {MAX_CHARACTERS:,} characters"
        elif not _is_unicode(text):
            problem = "it is not valid Unicode"
    return Record(where, None, problem) if problem else Record(where, text)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _jsonl(lines: Iterator[Line], column: str, name: str) -> Iterator[Record]:
    has_column, others = False, None
    for number, line, problem in lines:
        where = f"line {number}"
        if line is None or not line.strip():
            yield _checked(where, line, problem)
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            yield Record(where, None, "it is no JSON value by itself")
            continue
        if isinstance(found, dict) and column not in found:
            others = others or tuple(map(str, found))
            yield Record(where, None, f"it has no column {column!r}")
            continue
        has_column = True
        yield _checked(where, found[column] if isinstance(found, dict) else found)
    if not has_column and others is not None:
        raise UserError(_no_column(name, column, others))


def _csv(lines: Iterator[Line], column: str, name: str, delimiter: str) -> Iterator[Record]:
    bad: dict[int, str] = {}

    def fed() -> Iterator[str]:
        for number, line, problem in lines:
            if line is None:
                bad[number] = problem
            yield "" if line is None else f"{line}\n"

    csv.field_size_limit(MOST_BYTES)
    reader = csv.reader(fed(), delimiter=delimiter)
    header: list[str] | None = None
    start = 1
    while True:
        try:
            row = next(reader, None)
            problem = ""
        except csv.Error as error:
            row, problem = [], f"it is no CSV: {error}"
        if row is None:
            return
        where, start = f"line {start}", reader.line_num + 1
        number = next((n for n in list(bad) if n < start), None)
        if number is not None:
            problem = bad.pop(number)
        if header is None:
            if problem:
                raise UserError(f"{name}: {where}: {problem}")
            _check_columns(name, column, row)
            header = row
            continue
        if not problem and len(row) != len(header) and row:
            problem = f"it has {len(row)} columns and not {len(header)}"
        yield _checked(where, row[header.index(column)] if row and not problem else "", problem)


def _parquet(file: IO[bytes], column: str, name: str) -> Iterator[Record]:
    pyarrow, parquet = pyarrow_parts("Parquet files are read")
    try:
        opened = parquet.ParquetFile(file)
        names = opened.schema_arrow.names
        _check_columns(name, column, names)
        number = 0
        for batch in opened.iter_batches(ROWS, columns=[column]):
            for value in batch.column(0):
                number += 1
                where = f"row {number}"
                try:
                    yield _checked(where, value.as_py())
                except UnicodeDecodeError:
                    yield Record(where, None, "it is not UTF-8")
    except pyarrow.ArrowException as error:
        raise UserError(f"{name}: not a valid Parquet file: {error}") from error


def _check_columns(name: str, column: str, names: Sequence[str]) -> None:
    if column not in names:
        raise UserError(_no_column(name, column, names))
    if names.count(column) > 1:
        raise UserError(f"{name}: it has {names.count(column)} columns {column!r}")


def _no_column(name: str, column: str, others: Any) -> str:
    there = ", ".join(map(repr, list(others)[:10])) or "none"
    return f"{name}: there is no column {column!r} (--column); its columns are {there}"


def pyarrow_parts(why: str) -> tuple[Any, Any]:
    """Return pyarrow and its module of Parquet files.

    Raises:
        UserError: it is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UserError(f"{why} with pyarrow; install it: {extra_advice('corpus')}") from error
    return pyarrow, parquet
