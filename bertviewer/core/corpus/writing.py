"""Corpora: writing their folders, the manifest last, which marks them as complete."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from bertviewer.core.checkpoints.header import MAX_HEADER
from bertviewer.core.corpus.corpus import ClassSums, Corpus
from bertviewer.core.corpus.parquet import pyarrow_parts
from bertviewer.core.corpus.reading import (
    FEATURES,
    MANIFEST,
    MAX_ARRAYS,
    MAX_ROWS,
    STATISTICS,
    statistics_schema,
)
from bertviewer.core.saving.atomic_files import write_atomically
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.serialization import dumps

WHY_PYARROW = "statistics.parquet is written"


def prepare_folder(folder: Path) -> list[str]:
    """Create a folder if necessary, and return the names of its files.

    Raises:
        UserError: it cannot be created, or pyarrow is not installed.
    """
    pyarrow_parts(WHY_PYARROW)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error_reason(error)}") from error


def check_new(folder: Path) -> None:
    """Create a folder if necessary, and check that it is empty.

    Raises:
        UserError: it is not empty, or cannot be created.
    """
    if names := prepare_folder(folder):
        raise UserError(f"cannot write {folder}: it is not empty, {names[0]} exists")


def write_corpus(folder: Path, corpus: Corpus) -> None:
    """Write a corpus into an existing folder.

    Raises:
        UserError: it is too large to be read again, cannot be written, or pyarrow is not installed.
    """
    arrays = dict(_arrays(corpus))
    size = sum(array.nbytes for array in arrays.values())
    if size > MAX_ARRAYS - MAX_HEADER or len(corpus.rows) > MAX_ROWS:
        raise UserError(
            f"cannot write {folder}: {len(corpus.rows):,} rows and {size / 1e9:.1f} GB of features "
            "are too large to be read back; measure fewer modules with --modules"
        )
    write_atomically(folder / STATISTICS, _statistics(corpus.rows))
    write_atomically(folder / FEATURES, save(arrays))
    write_atomically(folder / MANIFEST, dumps(corpus.manifest, indent=1) + b"\n")


def _statistics(rows: tuple[ClassSums, ...]) -> bytes:
    """Return statistics.parquet; its columns are the fields of ``ClassSums``."""
    pyarrow, parquet = pyarrow_parts(WHY_PYARROW)
    kinds = statistics_schema()
    names = ClassSums.__struct_fields__
    columns = ([getattr(row, name) for row in rows] for name in names)
    arrays = [pyarrow.array(values, kind.type) for values, kind in zip(columns, kinds, strict=True)]
    out = pyarrow.BufferOutputStream()
    table = pyarrow.Table.from_arrays(arrays, schema=kinds)
    parquet.write_table(table, out, compression="zstd")
    written: bytes = out.getvalue().to_pybytes()
    return written


def _arrays(corpus: Corpus) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of features.safetensors, named "features:PATH:CALL:mean" and so on."""
    parts: tuple[tuple[str, Any], ...] = (("features", corpus.features), ("heads", corpus.heads))
    for part, found in parts:
        for (path, call), arrays in found.items():
            for name in arrays.__struct_fields__:
                values = np.ascontiguousarray(getattr(arrays, name))
                yield f"{part}:{path}:{call}:{name}", values
    if corpus.outliers is not None:
        for name in corpus.outliers.__struct_fields__:
            yield f"outliers:{name}", getattr(corpus.outliers, name)
