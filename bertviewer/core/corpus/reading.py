"""Reads the folder of a corpus, which may be anybody's, without torch."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bertviewer.core.corpus.corpus import (
    SCHEMA,
    ClassSums,
    Corpus,
    Features,
    Heads,
    Outliers,
    Place,
)
from bertviewer.core.corpus.folder_files import MOST_ARRAYS, arrays_in, read_file, read_json
from bertviewer.core.corpus.histogram import BINS
from bertviewer.core.corpus.parquet_files import opened, pieces
from bertviewer.core.corpus.records import pyarrow_parts
from bertviewer.core.corpus.strangers import (
    MOST_ROWS,
    Arrays,
    check_manifest,
    check_rows,
    check_sizes,
    made_of,
)
from bertviewer.core.corpus.writing import COLUMNS, FEATURES, MANIFEST, STATISTICS, schema
from bertviewer.core.util.errors import UserError

MOST_STATISTICS = 300_000_000
"""Bytes of statistics.parquet, whose histograms are packed; those of BERT base take 2 MB."""
_MOST_TEXTS = 4_000_000
"""Bytes of the paths in a batch of its rows."""


def is_corpus(folder: Path) -> bool:
    """Whether a folder says that it holds a corpus, which may be a bad one."""
    file = folder / MANIFEST
    try:
        # What is no file is not even opened: a pipe would wait for a writer.
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            return SCHEMA.encode() in opened.read(4096)
    except OSError:
        return False


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what manifest.json says.

    Raises:
        UserError: it cannot be read, or is no corpus's.
    """
    file = folder / MANIFEST
    found = read_json(file, "corpus manifest")
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise UserError(f"{file}: not a corpus manifest ({SCHEMA})")
    try:
        check_manifest(found)
    except ValueError as error:
        raise UserError(f"{file}: {error}") from error
    return found


def read_corpus(folder: Path) -> Corpus:
    """Return the corpus in a folder.

    Raises:
        UserError: a file is missing, lies elsewhere, is too large, or not what it should be.
    """
    manifest = read_manifest(folder)
    rows = _rows(folder / STATISTICS)
    file = folder / FEATURES
    arrays = arrays_in(read_file(file, MOST_ARRAYS, "the features of a corpus"), file)
    try:
        features, heads, outliers = _parts(arrays, [(row.path, row.call) for row in rows])
        corpus = Corpus(manifest, rows, features, heads, outliers)
        check_sizes(corpus)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: not a corpus's features: {error}") from error
    return corpus


def _rows(file: Path) -> tuple[ClassSums, ...]:
    pyarrow, _ = pyarrow_parts("statistics.parquet is read")
    content = BytesIO(read_file(file, MOST_STATISTICS, "the statistics of a corpus"))
    rows: list[ClassSums] = []
    try:
        table = opened(content)
        _check_sizes(table)
        for batch in pieces(table, content, COLUMNS):
            rows += _rows_of(batch)
    except (pyarrow.ArrowException, OSError, KeyError, ValueError) as error:
        raise UserError(f"{file}: not a corpus's statistics: {error}") from error
    return tuple(rows)


def _check_sizes(table: Any) -> None:
    """Return if a Parquet file says that it has our columns, and not too many rows.

    Raises:
        ValueError: it does not.
    """
    if not table.schema_arrow.equals(schema()):
        raise ValueError("its columns are not the expected ones")
    rows, metadata = table.metadata.num_rows, table.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    numbers = sum(group.column(len(COLUMNS) - 1).num_values for group in groups)
    if rows > MOST_ROWS or numbers != rows * BINS:
        raise ValueError(f"it has {rows:,} rows and {numbers:,} numbers in their histograms")


def _rows_of(batch: Any) -> Iterator[ClassSums]:
    """Yield the rows of a part of statistics.parquet.

    Raises:
        ValueError: they cannot be those of tensors.
    """
    columns = {name: batch.column(name) for name in COLUMNS}
    if any(column.null_count for name, column in columns.items() if name not in ("min", "max")):
        raise ValueError("a number is missing")
    if sum(columns[name].nbytes for name in ("path", "token_class")) > _MOST_TEXTS:
        raise ValueError("its paths are too long")
    histograms = columns["histogram"].flatten().to_numpy().reshape(batch.num_rows, BINS)
    numbers = {name: columns[name].to_numpy(zero_copy_only=False) for name in COLUMNS[1:-1]}
    check_rows({**numbers, "histogram": histograms})
    values = [columns[name].to_pylist() for name in COLUMNS[:-1]]
    for row in zip(*values, histograms, strict=True):
        yield ClassSums(*row)


def _parts(
    arrays: dict[str, NDArray[Any]], places: Iterable[Place]
) -> tuple[dict[Place, Features], dict[Place, Heads], Outliers | None]:
    found: dict[str, dict[Place, Arrays]] = {"features": {}, "heads": {}}
    outliers: Arrays = {}
    for key, array in arrays.items():
        part, _, rest = key.partition(":")
        if part == "outliers":
            outliers[rest] = array
            continue
        path, call, name = rest.rsplit(":", 2)
        found[part].setdefault((path, int(call)), {})[name] = array
    # A file of tensors has an order of its own.
    order = {place: number for number, place in enumerate(dict.fromkeys(places))}
    features, heads = (
        sorted(found[part].items(), key=lambda entry: order.get(entry[0], len(order)))
        for part in ("features", "heads")
    )
    return (
        {place: made_of(Features, own, 1) for place, own in features},
        {place: made_of(Heads, own, 1) for place, own in heads},
        made_of(Outliers, outliers, 2) if outliers else None,
    )
