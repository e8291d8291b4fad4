"""Writes the folder of a corpus: the manifest last, as it says that all is there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from bertviewer.core.checkpoints.header import MAX_HEADER
from bertviewer.core.corpus.corpus import ClassSums, Corpus
from bertviewer.core.corpus.folder_files import MOST_ARRAYS
from bertviewer.core.corpus.records import pyarrow_parts
from bertviewer.core.corpus.strangers import MOST_ROWS
from bertviewer.core.saving.atomic_files import error_reason, write_atomically
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import dumps

MANIFEST, STATISTICS, FEATURES = "manifest.json", "statistics.parquet", "features.safetensors"
COLUMNS = (
    *("path", "call", "token_class", "count", "sum", "squares", "min", "max"),
    *("zeros", "nan", "inf", "histogram"),
)
WHY_PYARROW = "statistics.parquet is written"


def names_in(folder: Path) -> list[str]:
    """Return what is in a folder for a corpus, which is made if it is not there.

    Raises:
        UserError: it cannot be, or pyarrow is not installed.
    """
    pyarrow_parts(WHY_PYARROW)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error_reason(error)}") from error


def check_new(folder: Path) -> None:
    """Return if a folder is empty; it is made if it is not there.

    Raises:
        UserError: it is not, or cannot be made.
    """
    if names := names_in(folder):
        raise UserError(f"cannot write {folder}: it is not empty, {names[0]} exists")


def write_corpus(folder: Path, corpus: Corpus) -> None:
    """Write a corpus into a folder that is there.

    Raises:
        UserError: it would be too large to be read again, the folder or the disk does not take it,
            or pyarrow is not installed.
    """
    arrays = dict(_arrays(corpus))
    size = sum(array.nbytes for array in arrays.values())
    if size > MOST_ARRAYS - MAX_HEADER or len(corpus.rows) > MOST_ROWS:
        raise UserError(
            f"cannot write {folder}: {len(corpus.rows):,} rows and {size / 1e9:.1f} GB of features "
            "are too large to be read back; measure fewer modules with --modules"
        )
    write_atomically(folder / STATISTICS, _statistics(corpus.rows))
    write_atomically(folder / FEATURES, save(arrays))
    write_atomically(folder / MANIFEST, dumps(corpus.manifest, indent=1) + b"\n")


def schema() -> Any:
    """Return the columns of statistics.parquet as pyarrow has them.

    Raises:
        UserError: it is not installed.
    """
    pyarrow, _ = pyarrow_parts(WHY_PYARROW)
    text, whole, real = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    kinds = (
        *(text, whole, text, whole, real, real, real, real),
        *(whole, whole, whole, pyarrow.list_(whole)),
    )
    return pyarrow.schema(zip(COLUMNS, kinds, strict=True))


def _statistics(rows: tuple[ClassSums, ...]) -> bytes:
    pyarrow, parquet = pyarrow_parts(WHY_PYARROW)
    columns = zip(
        *(
            (
                *(row.path, row.call, row.token_class, row.count, row.total, row.squares),
                *(row.min, row.max, row.zeros, row.nan, row.inf, row.histogram),
            )
            for row in rows
        ),
        strict=True,
    )
    kinds = schema()
    arrays = [
        pyarrow.array(list(values), kind.type) for values, kind in zip(columns, kinds, strict=True)
    ]
    out = pyarrow.BufferOutputStream()
    table = pyarrow.Table.from_arrays(arrays, schema=kinds)
    parquet.write_table(table, out, compression="zstd")
    written: bytes = out.getvalue().to_pybytes()
    return written


def _arrays(corpus: Corpus) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of features.safetensors: "features:PATH:CALL:mean", and so on."""
    parts: tuple[tuple[str, Any], ...] = (("features", corpus.features), ("heads", corpus.heads))
    for part, found in parts:
        for (path, call), arrays in found.items():
            for name in arrays.__struct_fields__:
                values = np.ascontiguousarray(getattr(arrays, name))
                yield f"{part}:{path}:{call}:{name}", values
    if corpus.outliers is not None:
        for name in corpus.outliers.__struct_fields__:
            yield f"outliers:{name}", getattr(corpus.outliers, name)
