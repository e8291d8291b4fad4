"""Parquet files in batches whose size in memory is limited before they are read.

pyarrow decodes whole pages and any number of rows: two kilobytes of Parquet can contain a thousand
references to one text of 50 MB. It has no limit for that, and sizes in the file's metadata may be
false. But no page is larger than its own header declares, and no value is larger than its page or
its dictionary's page. So the page headers are read first, which pyarrow does not expose.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from msgspec import Struct

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.installation import extra_advice

MAX_PAGE = 512_000_000
"""Bytes of a decompressed page; 1 MB is usual, and some programs write 100 MB."""
MAX_PIECE = 256_000_000
"""Bytes of a batch, unless a single value is larger."""
MAX_ROWS = 1024
"""Rows of a batch."""
_LARGE_DICTIONARY = 4_000_000
"""Bytes; a larger dictionary is not expanded for each row, which may take minutes."""
_DICTIONARY_ROWS = 65_536
"""Rows of a batch of dictionary indices."""

_BUFFER = 1 << 20  # bytes that are read from the file at once, instead of a whole column
_HEADERS = (4_096, 16_000_000)  # bytes of a usual page header, and of the largest that Arrow reads
# Thrift field numbers of a page header
_UNPACKED, _PACKED, _DICTIONARY = 2, 3, 7
_DATA = (5, 8)  # headers of data pages of both versions
_VALUES = 1  # their number of values


def pyarrow_parts(why: str) -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``; ``why`` begins the message.

    Raises:
        UserError: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UserError(f"{why} with pyarrow; install it: {extra_advice('corpus')}") from error
    return pyarrow, parquet


def open_parquet(file: BinaryIO, dictionaries: Sequence[str] = ()) -> Any:
    """Open a Parquet file; pyarrow is installed.

    Args:
        file: the file, which has to stay open.
        dictionaries: columns that are read as dictionary indices.

    Raises:
        pyarrow.ArrowException: it is invalid.
    """
    from pyarrow import parquet

    return parquet.ParquetFile(
        file, read_dictionary=list(dictionaries), buffer_size=_BUFFER, pre_buffer=False
    )


def batches(
    table: Any, file: BinaryIO, columns: Sequence[str], tick: Callable[[], None] = lambda: None
) -> Iterator[Any]:
    """Yield the rows of some columns in small batches, as far as single values allow it.

    Args:
        table: result of ``open_parquet``.
        file: its file.
        columns: names of the columns.
        tick: called for each page and each batch, to report progress or to cancel.

    Raises:
        ValueError: a page is larger than any real one, or the pages are invalid.
        pyarrow.ArrowException: the file is invalid.
    """
    metadata = table.metadata
    wanted = [
        number
        for number in range(metadata.num_columns)
        if (path := metadata.schema.column(number).path) in columns
        or path.startswith(tuple(f"{name}." for name in columns))
    ]
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        sizes = {
            group.column(n).path_in_schema: _sizes(file, group.column(n), tick) for n in wanted
        }
        large = [path for path, size in sizes.items() if size.is_large_dictionary]
        rows = _DICTIONARY_ROWS
        if len(large) < len(sizes) or not large:
            largest = max((size.largest for size in sizes.values()), default=0)
            rows = min(MAX_ROWS, max(1, MAX_PIECE // max(1, largest)))
        reader = open_parquet(file, large) if large else table
        for batch in reader.iter_batches(
            rows, row_groups=[number], columns=list(columns), use_threads=False
        ):
            tick()
            yield batch


class _Sizes(Struct, frozen=True):
    """Bytes of a column's decompressed pages: all, the largest one, the dictionary."""

    total: int
    largest: int
    dictionary: int

    @property
    def is_large_dictionary(self) -> bool:
        return self.dictionary > _LARGE_DICTIONARY and self.total <= MAX_PAGE


def _sizes(file: BinaryIO, chunk: Any, tick: Callable[[], None]) -> _Sizes:
    """Return the sizes of a column's pages in a row group, from the page headers."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end, seen = at + chunk.total_compressed_size, 0
    total = largest = dictionary = 0
    while at < end and seen < chunk.num_values:
        tick()
        header, length = _page_header(file, at)
        unpacked, packed = header.get(_UNPACKED), header.get(_PACKED)
        if (
            not isinstance(unpacked, int)
            or not isinstance(packed, int)
            or min(unpacked, packed) < 0
        ):
            raise ValueError("a page has no size")
        if max(unpacked, packed) > MAX_PAGE:
            raise ValueError(f"one of its pages has {max(unpacked, packed):,} bytes")
        total, largest = total + unpacked, max(largest, unpacked)
        if _DICTIONARY in header and chunk.physical_type == "BYTE_ARRAY":
            dictionary = unpacked
        for field in _DATA:
            of_data = header.get(field)
            count = of_data.get(_VALUES) if isinstance(of_data, dict) else 0
            seen += count if isinstance(count, int) and count > 0 else 0
        at += length + packed
    if seen > chunk.num_values:
        raise ValueError("its pages hold more values than it declares")
    return _Sizes(total, largest, dictionary)


def _page_header(file: BinaryIO, at: int) -> tuple[dict[int, Any], int]:
    """Return the fields of the page header at an offset of a file, and its length in bytes."""
    for most in _HEADERS:
        file.seek(at)
        reader = _ThriftReader(file.read(most))
        try:
            return reader.struct(), reader.at
        except IndexError:
            continue
    raise ValueError("a page is truncated")


class _ThriftReader:
    """Reads a page header in Thrift's compact protocol."""

    _DEEPEST = 8

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by number.

        Raises:
            IndexError: the bytes are truncated.
            ValueError: they are invalid.
        """
        if depth > self._DEEPEST:
            raise ValueError("a page header is nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while first := self._byte():
            step, kind = first >> 4, first & 0xF
            number = number + step if step else self._signed()
            found[number] = self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # true, false
            return kind == 1
        if kind == 3:  # i8
            return self._byte()
        if kind in (4, 5, 6):  # i16, i32, i64
            return self._signed()
        if kind in (7, 8):  # double, binary
            length = 8 if kind == 7 else self._unsigned()
            self.at += length
            if self.at > len(self._raw):
                raise IndexError
            return None
        if kind == 12:  # struct
            return self.struct(depth + 1)
        raise ValueError("a page header has a field of the wrong type")

    def _byte(self) -> int:
        self.at += 1
        return self._raw[self.at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a page header has a number with too many digits")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
