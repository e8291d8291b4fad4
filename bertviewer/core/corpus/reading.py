"""Reads the folder of a corpus, which may be a stranger's, without torch."""

import json
from pathlib import Path
from typing import Any

import numpy as np
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
from bertviewer.core.corpus.writing import COLUMNS, FEATURES, MANIFEST, STATISTICS
from bertviewer.core.errors import UserError
from bertviewer.core.system.files import read_small_file

MOST_BYTES = 50_000_000
_KEYS = ("source", "sentences", "tokens", "modules", "states")


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
        found = json.loads(read_small_file(file, MOST_BYTES, "a manifest"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: not the manifest of a corpus: {error}") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise UserError(f"{file}: not the manifest of a corpus ({SCHEMA})")
    lacking = next((key for key in _KEYS if key not in found), None)
    if lacking is not None:
        raise UserError(f"{file}: it says nothing of {lacking}")
    return found


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
        features, heads, outliers = _parts(arrays)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: not the features of a corpus: {error}") from error
    return Corpus(manifest, rows, features, heads, outliers)


def _rows(file: Path) -> tuple[ClassSums, ...]:
    pyarrow, parquet = pyarrow_parts("statistics.parquet is read")
    try:
        table = parquet.read_table(file, columns=list(COLUMNS))
        lists = table.column("histogram").combine_chunks()
        counts = np.asarray(lists.flatten().to_numpy(zero_copy_only=False))
        histograms = counts.reshape(-1, BINS).astype(np.int64)
        columns = [table.column(name).to_pylist() for name in COLUMNS[:-1]]
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error
    except (pyarrow.ArrowException, KeyError, ValueError) as error:
        raise UserError(f"{file}: not the statistics of a corpus: {error}") from error
    if len(histograms) != table.num_rows or None in columns[0]:
        raise UserError(f"{file}: not the statistics of a corpus")
    return tuple(ClassSums(*values) for values in zip(*columns, histograms, strict=True))


def _parts(
    arrays: dict[str, NDArray[Any]],
) -> tuple[dict[Place, Features], dict[Place, Heads], Outliers | None]:
    found: dict[str, dict[Place, dict[str, NDArray[Any]]]] = {"features": {}, "heads": {}}
    outliers: dict[str, NDArray[Any]] = {}
    for key, array in arrays.items():
        part, _, rest = key.partition(":")
        if part == "outliers":
            outliers[rest] = array
            continue
        path, call, name = rest.rsplit(":", 2)
        found[part].setdefault((path, int(call)), {})[name] = array
    return (
        {place: Features(**own) for place, own in found["features"].items()},
        {place: Heads(**own) for place, own in found["heads"].items()},
        Outliers(**outliers) if outliers else None,
    )
