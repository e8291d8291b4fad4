"""Corpora: reading and validating their folders, which are not trusted, without torch.

Sizes are limited before anything is read, JSON is decoded by type, and the numbers of arrays and
columns have to be possible: later code adds, divides and draws them without further checks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from bertviewer.core.checkpoints.finding import check_inside
from bertviewer.core.checkpoints.header import json_error, parse_header
from bertviewer.core.checkpoints.reading import decode_values
from bertviewer.core.corpus.corpus import (
    SCHEMA,
    CallKey,
    ClassSums,
    Corpus,
    Features,
    Heads,
    Outliers,
)
from bertviewer.core.corpus.parquet import batches, open_parquet, pyarrow_parts
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import Kind, find_task
from bertviewer.core.statistics.histograms import FLOAT_BINS
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.serialization import convert, parse
from bertviewer.core.util.text import shown_name

MANIFEST, STATISTICS, FEATURES = "manifest.json", "statistics.parquet", "features.safetensors"
COLUMNS = (
    *("path", "call", "token_class", "count", "sum", "squares", "min", "max"),
    *("zeros", "nan", "inf", "histogram"),
)
"""Columns of statistics.parquet, in the order of the fields of ``ClassSums``."""

MAX_JSON = 20_000_000
"""Bytes of JSON; a manifest of 10,000 shards takes 2 MB."""
MAX_ARRAYS = 1_000_000_000
"""Bytes of arrays; those of a model with 2,000 modules of 4,096 features take 300 MB."""
MAX_STATISTICS = 300_000_000
"""Bytes of statistics.parquet with compressed histograms; those of BERT base take 2 MB."""
MAX_ROWS = 40_000
"""Rows of statistics.parquet; each has 16 kB in memory. A model of 2,000 modules has 10,000."""
MAX_FEATURES = 2_000_000
"""Features of a call's output: more than the largest vocabulary."""
MAX_WIDTH = 200_000
"""Features of a hidden state."""
MAX_HEADS = 1_000_000
"""Heads of all attentions together."""
_MAX_TEXTS = 4_000_000
"""Bytes of the paths in a batch of rows."""
_MAX_COUNT = 1 << 53
"""Counts below this can be added exactly in float64."""
_LARGEST = float(np.finfo(np.float32).max)
_DTYPES = ("F64", "F32", "I64")
_FIELD_DTYPES: Mapping[type, tuple[str, ...]] = {
    Features: ("i8", "f8", "f8", "f4", "f4"),
    Heads: ("f8",) * 5,
    Outliers: ("i8", "i8", "f4"),
}

Arrays = dict[str, NDArray[Any]]
_Count = Annotated[int, Meta(ge=0, lt=_MAX_COUNT)]
_Place = tuple[str, _Count]


class _ModelDigests(Struct, frozen=True):
    configuration: str
    files: dict[str, str]


class _DataFile(Struct, frozen=True):
    name: str
    sha256: str
    sentences: _Count
    left_out: _Count
    first_left_out: tuple[tuple[str, str], ...]
    bytes: _Count | None = None


class _Module(Struct, frozen=True, rename={"class_name": "class"}):
    path: str
    class_name: str
    call: _Count
    same_as: _Place | None = None
    left_out: str | None = None


class _Unmeasured(Struct, frozen=True, rename={"class_name": "class"}):
    path: str
    class_name: str
    left_out: str


class _Manifest(Struct, frozen=True):
    """The required content of a manifest, without its schema."""

    sentences: _Count
    tokens: _Count
    cut: _Count
    unread: _Count
    batches: _Count
    left_out: _Count
    command: str
    equal_lengths: bool
    source: SourceInfo
    model: _ModelDigests
    versions: dict[str, str]
    choices: dict[str, bool | _Count | str | None]
    data: tuple[_DataFile, ...]
    shards: tuple[dict[str, _Count], ...]
    modules: tuple[_Module, ...]
    states: tuple[_Place | None, ...]
    attentions_left_out: tuple[_Unmeasured, ...] | None = None
    stacks: tuple[_Count, ...] | None = None


def is_corpus(folder: Path) -> bool:
    """Whether a folder claims to contain a corpus, valid or not."""
    file = folder / MANIFEST
    try:
        # Opening a pipe would wait for a writer.
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            return SCHEMA.encode() in opened.read(4096)
    except OSError:
        return False


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return manifest.json.

    Raises:
        UserError: it cannot be read, or is invalid.
    """
    file = folder / MANIFEST
    found = read_json(file, "corpus manifest")
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise UserError(f"{file}: not a corpus manifest ({SCHEMA})")
    try:
        _check_manifest(found)
    except ValueError as error:
        raise UserError(f"{file}: {error}") from error
    return found


def read_corpus(folder: Path) -> Corpus:
    """Return the corpus in a folder.

    Raises:
        UserError: a file is missing, outside the folder, too large, or invalid.
    """
    manifest = read_manifest(folder)
    rows = _rows(folder / STATISTICS)
    file = folder / FEATURES
    arrays = arrays_in(read_file(file, MAX_ARRAYS, "the features of a corpus"), file)
    try:
        corpus = Corpus(manifest, rows, *_parts(arrays, [row.key for row in rows]))
        _check_sizes(corpus)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: not a corpus's features: {error}") from error
    return corpus


def check_corpus(corpus: Corpus) -> None:
    """Validate a corpus that was merged from shards.

    Raises:
        ValueError: it is invalid.
    """
    _check_manifest(corpus.manifest)
    if corpus.rows:
        kinds = dict.fromkeys(("sum", "squares", "min", "max"), np.float64)
        names = zip(COLUMNS, ClassSums.__struct_fields__, strict=True)
        _check_rows(
            {
                column: np.array([getattr(row, name) for row in corpus.rows], kinds.get(column))
                for column, name in names
                if column not in ("path", "token_class")
            }
        )
    _check_sizes(corpus)


def read_file(file: Path, most: int, what: str) -> bytes:
    """Return the content of a regular file; ``what`` names it in messages.

    Raises:
        UserError: it is not a regular file, a link that leaves the folder, larger than ``most``
            bytes, or cannot be read.
    """
    check_inside(file)
    return read_small_file(file, most, what)


def read_json(file: Path, what: str) -> Any:
    """Return the JSON in a file; its strings are valid Unicode.

    Raises:
        UserError: as ``read_file``, or it is not JSON.
    """
    content = read_file(file, MAX_JSON, f"a {what}")
    try:
        found = parse(content)
        # In valid UTF-8 only an escape can be a lone surrogate.
        if b"\\u" in content:
            msgspec.json.encode(found)
    except (ValueError, RecursionError, OverflowError) as error:
        raise UserError(f"{file}: bad {what}: {json_error(error)}") from error
    return found


def arrays_in(content: bytes, file: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file, without copies; ``file`` is for messages.

    Raises:
        UserError: the format is invalid, or a dtype is not one of a corpus.
    """
    found: dict[str, NDArray[Any]] = {}
    for tensor in parse_header(content, file, len(content)):
        if tensor.dtype not in _DTYPES:
            raise UserError(f"{file}: {shown_name(tensor.name)} is stored as {tensor.dtype}")
        raw = memoryview(content)[tensor.offset : tensor.offset + tensor.nbytes]
        found[tensor.name] = decode_values(raw, tensor.dtype).reshape(tensor.shape)
    return found


def statistics_schema() -> Any:
    """Return pyarrow's schema of statistics.parquet.

    Raises:
        UserError: pyarrow is not installed.
    """
    pyarrow, _ = pyarrow_parts("statistics.parquet is written")
    text, whole, real = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    kinds = (
        *(text, whole, text, whole, real, real, real, real),
        *(whole, whole, whole, pyarrow.list_(whole)),
    )
    return pyarrow.schema(zip(COLUMNS, kinds, strict=True))


def _rows(file: Path) -> tuple[ClassSums, ...]:
    pyarrow, _ = pyarrow_parts("statistics.parquet is read")
    content = BytesIO(read_file(file, MAX_STATISTICS, "the statistics of a corpus"))
    rows: list[ClassSums] = []
    try:
        table = open_parquet(content)
        if not table.schema_arrow.equals(statistics_schema()):
            raise ValueError("its columns are not the expected ones")
        count, metadata = table.metadata.num_rows, table.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        numbers = sum(group.column(len(COLUMNS) - 1).num_values for group in groups)
        if count > MAX_ROWS or numbers != count * FLOAT_BINS:
            raise ValueError(f"it has {count:,} rows and {numbers:,} numbers in their histograms")
        for batch in batches(table, content, COLUMNS):
            rows += _rows_of(batch)
    except (pyarrow.ArrowException, OSError, KeyError, ValueError) as error:
        raise UserError(f"{file}: not a corpus's statistics: {error}") from error
    return tuple(rows)


def _rows_of(batch: Any) -> Iterator[ClassSums]:
    """Yield the rows of a batch of statistics.parquet.

    Raises:
        ValueError: their numbers are impossible.
    """
    columns = {name: batch.column(name) for name in COLUMNS}
    if any(column.null_count for name, column in columns.items() if name not in ("min", "max")):
        raise ValueError("a number is missing")
    if sum(columns[name].nbytes for name in ("path", "token_class")) > _MAX_TEXTS:
        raise ValueError("its paths are too long")
    histograms = columns["histogram"].flatten().to_numpy().reshape(batch.num_rows, FLOAT_BINS)
    numbers = {name: columns[name].to_numpy(zero_copy_only=False) for name in COLUMNS[1:-1]}
    _check_rows({**numbers, "histogram": histograms})
    values = [columns[name].to_pylist() for name in COLUMNS[:-1]]
    for row in zip(*values, histograms, strict=True):
        yield ClassSums(*row)


def _parts(
    arrays: Arrays, keys: Iterable[CallKey]
) -> tuple[dict[CallKey, Features], dict[CallKey, Heads], Outliers | None]:
    """Return features, heads and outliers from the arrays of features.safetensors."""
    found: dict[str, dict[CallKey, Arrays]] = {"features": {}, "heads": {}}
    outliers: Arrays = {}
    for key, array in arrays.items():
        part, _, rest = key.partition(":")
        if part == "outliers":
            outliers[rest] = array
            continue
        path, call, name = rest.rsplit(":", 2)
        found[part].setdefault((path, int(call)), {})[name] = array
    # safetensors sorts the arrays.
    order = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    features, heads = (
        sorted(found[part].items(), key=lambda entry: order.get(entry[0], len(order)))
        for part in ("features", "heads")
    )
    return (
        {key: _valid(Features, own, 1) for key, own in features},
        {key: _valid(Heads, own, 1) for key, own in heads},
        _valid(Outliers, outliers, 2) if outliers else None,
    )


def _valid(kind: Callable[..., Any], arrays: Arrays, axes: int) -> Any:
    """Return a Struct of arrays, all of one shape with this number of axes.

    Raises:
        ValueError: shapes, dtypes or counts are invalid.
        TypeError: an array is missing.
    """
    found = kind(**arrays)
    own = [getattr(found, name) for name in found.__struct_fields__]
    if any(one.shape != other.shape for one, other in pairwise(own)) or own[0].ndim != axes:
        raise ValueError("its arrays differ in shape")
    dtypes = _FIELD_DTYPES[type(found)]
    if any(one.dtype != dtype for one, dtype in zip(own, dtypes, strict=True)):
        raise ValueError("its arrays have the wrong types")
    if any((one < 0).any() or (one >= _MAX_COUNT).any() for one in own if one.dtype == np.int64):
        raise ValueError("a count is out of bounds")
    return found


def _check_manifest(manifest: Mapping[str, Any]) -> None:
    source = convert(manifest, _Manifest).source
    if source.kind not in get_args(Kind):
        raise ValueError("its model has an unknown kind of source")
    try:
        find_task(source.task)
    except UserError as error:
        raise ValueError(str(error)) from error


def _check_sizes(corpus: Corpus) -> None:
    widest = max((len(found.count) for found in corpus.features.values()), default=0)
    heads = sum(len(found.queries) for found in corpus.heads.values())
    width = 0 if corpus.outliers is None else corpus.outliers.tokens.shape[1]
    if widest > MAX_FEATURES or heads > MAX_HEADS or width > MAX_WIDTH:
        raise ValueError(f"it has {widest:,} features, {heads:,} heads and states of {width:,}")


def _check_rows(columns: Mapping[str, NDArray[Any]]) -> None:
    """Check that the numbers of statistics.parquet, by column, are possible.

    Raises:
        ValueError: they are not.
    """
    counts = np.stack([columns[name] for name in ("call", "count", "zeros", "nan", "inf")])
    histogram = columns["histogram"]
    if (counts < 0).any() or (counts >= _MAX_COUNT).any() or (histogram < 0).any():
        raise ValueError("a count is out of bounds")
    _, count, zeros, nan, inf = counts
    # float64, as the integers may overflow.
    if (histogram.sum(axis=1, dtype=np.float64) != (count - nan - inf)).any():
        raise ValueError("a histogram does not contain as many values as were counted")
    if (zeros > count - nan - inf).any():
        raise ValueError("a count is larger than the number of values")
    sums, squares = np.abs(columns["sum"]), columns["squares"]
    # These are sums of float32 values; comparisons with NaN are false.
    if not ((sums <= count * _LARGEST) & (squares >= 0) & (squares <= count * _LARGEST**2)).all():
        raise ValueError("a sum is impossible for that many values")
    low, high = columns["min"], columns["max"]  # NaN for a missing one
    is_none = np.isnan(low) & np.isnan(high)
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high) | is_none).all():
        raise ValueError("a minimum is larger than the maximum")
    if (is_none != (count == nan + inf)).any():
        raise ValueError("a minimum is missing")
