"""Records of text files: lines, JSONL, CSV and Parquet, optionally gzipped, one after another.

All records are numbered, and an invalid one costs only itself. pyarrow reads the Parquet files, but
not the others: pyarrow.csv.open_csv fails for a whole file at the first byte that is not UTF-8, and
at a record larger than its block or a quotation mark that is not closed, without a line number;
pyarrow.json.open_json fails at the first invalid line, at a plain string or a second type.
"""

import csv
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from bertviewer.core.corpus.parquet import batches, open_parquet, pyarrow_parts
from bertviewer.core.tokenization.sentence import MAX_CHARACTERS
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.serialization import parse_lenient

COLUMN = "text"
"""Default column."""
STDIN = "-"
MAX_BYTES = 16_000_000
"""Bytes of a record; a longer one is not a sentence, and would fill the memory."""
MAX_SKIPPED = 1_000_000_000
"""Bytes of a skipped line; 1 MB of gzip can contain a line of 1 GB."""

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_STEP = 1 << 20
"""Bytes between two progress reports."""
_TEXTS = ("string", "large_string", "string_view")
"""Arrow's text types."""
_PACKED = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh91AY&SY": "bzip2",
    b"\xfd7zX": "xz",
    b"PK\x03\x04": "zip",
    b"\x04\x22\x4d\x18": "lz4",
}
"""Magic bytes of unsupported compression formats."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_JSON, _CSV, _TSV = (".jsonl", ".ndjson", ".json"), (".csv",), (".tsv", ".tab")
_TOO_LONG = f"it has more than {MAX_CHARACTERS:,} characters"


class Record(Struct, frozen=True):
    """One record of a file.

    Attributes:
        where: its place, such as "line 3".
        text: its text, ``None`` if it is invalid.
        problem: why it is invalid.
    """

    where: str
    text: str | None
    problem: str = ""


Line = tuple[int, str | None, str]
"""Number from 1, text without line break or ``None``, and why it is invalid."""
Tick = Callable[[], None]
"""Reports progress; may raise ``Cancelled``."""


def records(
    path: Path, column: str | None, name: str | None = None, progress: Progress = no_progress
) -> Iterator[Record]:
    """Yield the records of a file; ``name`` names it in messages.

    Raises:
        UserError: it cannot be read, has no such column of text, or ends in the middle of
            something.
        Cancelled: by ``progress``, which is called within a long record too.
    """
    name = str(path) if name is None else name
    try:
        with path.open("rb") as file:
            size = max(1, os.fstat(file.fileno()).st_size)

            def tick() -> None:
                progress(min(1000, 1000 * file.tell() // size), 1000, f"Reading {name}")

            kind = _kind(path, name, column)
            yield from _records_of(file, kind, column or COLUMN, name, tick)
    except (OSError, EOFError, zlib.error) as error:
        why = "its gzip data is truncated or corrupt" if _is_gzip(error) else error_reason(error)
        raise UserError(f"{name}: {why}") from error


def _is_gzip(error: Exception) -> bool:
    return isinstance(error, EOFError | zlib.error | gzip.BadGzipFile)


def _kind(path: Path, name: str, column: str | None) -> str:
    if name == STDIN:
        return "text" if column is None else _JSON[0]
    plain = Path(path.name.removesuffix(".gz"))
    return plain.suffix.lower() or "text"


def _records_of(file: BinaryIO, kind: str, column: str, name: str, tick: Tick) -> Iterator[Record]:
    head = file.read(10)
    file.seek(0)
    if head.startswith(_PARQUET):
        yield from _parquet(file, column, name, tick)
        return
    if packed_as := next((how for magic, how in _PACKED.items() if head.startswith(magic)), None):
        raise UserError(
            f"{name}: it is compressed as {packed_as}, which is not supported; decompress it first"
        )
    if head.startswith(_GZIP):
        packed = gzip.GzipFile(fileobj=file)
        head = packed.peek(len(_PARQUET))
        if head.startswith(_PARQUET):
            raise UserError(
                f"{name}: Parquet files are compressed internally; decompress this file first"
            )
        lines = _lines(packed, name, tick)
    else:
        lines = _lines(file, name, tick)
    if _is_utf16(head):
        raise UserError(f"{name}: its text is UTF-16; save it as UTF-8")
    if kind in _JSON:
        yield from _jsonl(lines, column, name)
    elif kind in (*_CSV, *_TSV):
        yield from _csv(lines, column, name, "\t" if kind in _TSV else ",")
    else:
        for number, line, problem in lines:
            yield _checked(f"line {number}", line, problem)


def _is_utf16(head: bytes) -> bool:
    """Whether a file begins with UTF-16's byte order mark, or every second byte is zero."""
    is_latin = len(head) >= 4 and any(head[::2]) != any(head[1::2])
    return is_latin or head.startswith(_UTF16)


def _lines(file: Any, name: str, tick: Tick) -> Iterator[Line]:
    """Yield the lines, which end in LF, CRLF or CR."""
    number = unreported = 0
    while read := file.readline(MAX_BYTES):
        unreported += len(read)
        if unreported >= _STEP:
            tick()
            unreported = 0
        if len(read) == MAX_BYTES and not read.endswith(b"\n"):
            number += 1
            skipped = len(read)
            while (rest := file.readline(MAX_BYTES)) and not rest.endswith(b"\n"):
                tick()
                skipped += len(rest)
                if skipped > MAX_SKIPPED:
                    raise UserError(f"{name}: line {number} has more than {MAX_SKIPPED:,} bytes")
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
    """Return a record; a value that a tokenizer does not accept makes it invalid."""
    if not problem:
        if not isinstance(text, str):
            problem = "it is not text"
        elif not text.strip():
            problem = "it is empty"
        elif len(text) > MAX_CHARACTERS:
            problem = _TOO_LONG
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
            found = parse_lenient(line)
        except (ValueError, RecursionError):
            yield Record(where, None, "it is not a complete JSON value")
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
    start, size = 1, 0

    def fed() -> Iterator[str]:
        nonlocal size
        for number, line, problem in lines:
            if line is None:
                bad[number] = problem
            size += 0 if line is None else len(line) + 1
            if size > MAX_BYTES:
                raise UserError(
                    f"{name}: the record that begins in line {start} has more than "
                    f"{MAX_BYTES:,} characters; is a quotation mark not closed?"
                )
            yield "" if line is None else f"{line}\n"

    csv.field_size_limit(2 * MAX_BYTES)
    reader = csv.reader(fed(), delimiter=delimiter)
    header: list[str] | None = None
    while True:
        size = 0
        try:
            row = next(reader, None)
            problem = ""
        except csv.Error as error:
            row, problem = [], f"it is not valid CSV: {error}"
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


def _parquet(file: BinaryIO, column: str, name: str, tick: Tick) -> Iterator[Record]:
    pyarrow, _ = pyarrow_parts("Parquet files are read")
    try:
        table = open_parquet(file)
        _check_columns(name, column, table.schema_arrow.names)
        kind = table.schema_arrow.field(column).type
        value = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
        if str(value) not in _TEXTS:
            raise UserError(f"{name}: the column {column!r} holds {kind} and not text")
        number = 0
        for batch in batches(table, file, [column], tick):
            texts = batch.column(0)
            if str(kind) == "string_view":  # binary_length does not accept it
                texts = texts.cast(pyarrow.large_string())
            for place, size in enumerate(_byte_counts(texts)):
                number += 1
                where = f"row {number}"
                if size > 4 * MAX_CHARACTERS:
                    yield Record(where, None, _TOO_LONG)
                    continue
                try:
                    yield _checked(where, texts[place].as_py())
                except UnicodeDecodeError:
                    yield Record(where, None, "it is not UTF-8")
    except (pyarrow.ArrowException, ValueError) as error:
        raise UserError(f"{name}: not a valid Parquet file: {error}") from error


def _byte_counts(texts: Any) -> list[int]:
    """Return the bytes of each text of a column, or of its dictionary entry; 0 for null."""
    from pyarrow import compute

    if not hasattr(texts, "dictionary"):
        found: list[int] = compute.fill_null(compute.binary_length(texts), 0).to_pylist()
        return found
    counts = [*_byte_counts(texts.dictionary), 0]
    return [counts[-1 if index is None else index] for index in texts.indices.to_pylist()]


def _check_columns(name: str, column: str, names: Sequence[str]) -> None:
    if column not in names:
        raise UserError(_no_column(name, column, names))
    if names.count(column) > 1:
        raise UserError(f"{name}: it has {names.count(column)} columns {column!r}")


def _no_column(name: str, column: str, others: Any) -> str:
    names = ", ".join(map(repr, list(others)[:10])) or "none"
    return f"{name}: no column {column!r} (--column); its columns are {names}"
