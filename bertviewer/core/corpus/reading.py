"""Reads the folder of a corpus, which may be a stranger's, without torch."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from bertviewer.core.corpus.corpus import (
    SCHEMA,
    ClassSums,
    Corpus,
    Features,
    Heads,
    Outliers,
    Place,
)
from bertviewer.core.corpus.histogram import BINS
from bertviewer.core.corpus.records import pyarrow_parts
from bertviewer.core.corpus.strangers import MOST_ROWS, Arrays, check_rows, made_of, wrong_in
from bertviewer.core.corpus.writing import COLUMNS, FEATURES, MANIFEST, STATISTICS, schema
from bertviewer.core.errors import UserError
from bertviewer.core.system.files import read_small_file

MOST_BYTES = 50_000_000


def is_corpus(folder: Path) -> bool:
    """Whether a folder says that it holds a corpus."""
    try:
        return SCHEMA in (folder / MANIFEST).read_text(encoding="utf-8", errors="replace")[:4096]
    except OSError:
        return False


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what manifest.json says.

    Raises:
        UserError: it cannot be read, or is no corpus's.
    """
    file = folder / MANIFEST
    try:
        content = read_small_file(file, MOST_BYTES, "a manifest")
        found = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: not the manifest of a corpus: {error}") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise UserError(f"{file}: not the manifest of a corpus ({SCHEMA})")
    if wrong := wrong_in(found):
        what = "it is not what it should be" if wrong in found else "it says nothing of it"
        raise UserError(f"{file}: {wrong}: {what}")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def read_corpus(folder: Path) -> Corpus:
    """Return the corpus in a folder.

    Raises:
        UserError: a file is missing, or not what it should be.
    """
    manifest = read_manifest(folder)
    rows = _rows(folder / STATISTICS)
    file = folder / FEATURES
    try:
        arrays = load(file.read_bytes())
        features, heads, outliers = _parts(arrays, [(row.path, row.call) for row in rows])
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: not the features of a corpus: {error}") from error
    return Corpus(manifest, rows, features, heads, outliers)


def _rows(file: Path) -> tuple[ClassSums, ...]:
    pyarrow, parquet = pyarrow_parts("statistics.parquet is read")
    try:
        with parquet.ParquetFile(file) as opened:
            table = _checked(opened)
        histograms = table.column("histogram").combine_chunks().flatten().to_numpy()
        columns = {name: table.column(name).to_numpy() for name in COLUMNS[1:-1]}
        check_rows({**columns, "histogram": histograms.reshape(table.num_rows, BINS)})
        values = [table.column(name).to_pylist() for name in COLUMNS[:-1]]
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error
    except (pyarrow.ArrowException, KeyError, ValueError) as error:
        raise UserError(f"{file}: not the statistics of a corpus: {error}") from error
    rows = zip(*values, histograms.reshape(-1, BINS), strict=True)
    return tuple(ClassSums(*row) for row in rows)


def _checked(opened: Any) -> Any:
    """Return the table in a Parquet file, which may say that it is larger than any memory.

    Raises:
        ValueError: it has other columns than ours, or too many rows.
    """
    if not opened.schema_arrow.equals(schema()):
        raise ValueError("its columns are others")
    rows, metadata = opened.metadata.num_rows, opened.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    numbers = sum(group.column(len(COLUMNS) - 1).num_values for group in groups)
    if rows > MOST_ROWS or numbers != rows * BINS:
        raise ValueError(f"it has {rows:,} rows and {numbers:,} numbers in their histograms")
    table = opened.read()
    if any(table.column(name).null_count for name in COLUMNS if name not in ("min", "max")):
        raise ValueError("a number is missing")
    return table


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
