"""Checks that the folder of a corpus, which may be a stranger's, holds what one of ours does."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Annotated, Any, get_args

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from bertviewer.core.corpus.corpus import Corpus, Features, Heads, Outliers
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import Kind
from bertviewer.core.sources.tasks import find_task
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import convert

MOST_ROWS = 40_000
"""A row has a histogram, 16 kB in memory; a model of 2,000 modules has 10,000 rows."""
MOST_FEATURES = 2_000_000
"""Of one call of a module: more than the largest vocabulary."""
MOST_WIDTH = 200_000
"""Features of a hidden state."""
MOST_HEADS = 1_000_000
"""Of all attentions together."""
_MOST = 1 << 53
"""Counts up to here add up exactly, in any format."""
_LARGEST = float(np.finfo(np.float32).max)

Arrays = dict[str, NDArray[Any]]


_Count = Annotated[int, Meta(ge=0, lt=_MOST)]
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
    """A manifest, without its schema; there may be more in it."""

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


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Return if a manifest has all that it should have.

    Raises:
        ValueError: something is missing, or of another type; the message has the place.
    """
    source = convert(manifest, _Manifest).source
    if source.kind not in get_args(Kind):
        raise ValueError("its model has an unknown kind of source")
    try:
        find_task(source.task)
    except UserError as error:
        raise ValueError(str(error)) from error


def check_sound(corpus: Corpus) -> None:
    """Return if what was merged from shards can be a corpus.

    Raises:
        ValueError: it cannot.
    """
    check_manifest(corpus.manifest)
    names = ("call", "count", "zeros", "nan", "inf", "histogram")
    columns = {name: np.array([getattr(row, name) for row in corpus.rows]) for name in names}
    reals = (("sum", "total"), ("squares", "squares"), ("min", "min"), ("max", "max"))
    for column, name in reals:
        columns[column] = np.array([getattr(row, name) for row in corpus.rows], np.float64)
    if corpus.rows:
        check_rows(columns)
    check_sizes(corpus)


def check_sizes(corpus: Corpus) -> None:
    """Return if the arrays of a corpus are not larger than any real ones.

    Raises:
        ValueError: they are.
    """
    widest = max((len(found.count) for found in corpus.features.values()), default=0)
    heads = sum(len(found.queries) for found in corpus.heads.values())
    width = 0 if corpus.outliers is None else corpus.outliers.tokens.shape[1]
    if widest > MOST_FEATURES or heads > MOST_HEADS or width > MOST_WIDTH:
        raise ValueError(f"it has {widest:,} features, {heads:,} heads and states of {width:,}")


def check_rows(columns: Mapping[str, NDArray[Any]]) -> None:
    """Return if the numbers of statistics.parquet, by column, can be those of tensors.

    Raises:
        ValueError: they cannot.
    """
    counts = np.stack([columns[name] for name in ("call", "count", "zeros", "nan", "inf")])
    histogram = columns["histogram"]
    if (counts < 0).any() or (counts >= _MOST).any() or (histogram < 0).any():
        raise ValueError("a count is out of bounds")
    _, count, zeros, nan, inf = counts
    # In float64: a stranger's may be too large to be added up as they are.
    if (histogram.sum(axis=1, dtype=np.float64) != (count - nan - inf)).any():
        raise ValueError("a histogram does not contain as many values as were counted")
    if (zeros > count - nan - inf).any():
        raise ValueError("a count is larger than the number of values")
    sums, squares = np.abs(columns["sum"]), columns["squares"]
    # What is summed are values in float32; NaN is not below anything.
    if not ((sums <= count * _LARGEST) & (squares >= 0) & (squares <= count * _LARGEST**2)).all():
        raise ValueError("a sum is impossible for that many values")
    low, high = columns["min"], columns["max"]  # NaN where there is none
    is_none = np.isnan(low) & np.isnan(high)
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high) | is_none).all():
        raise ValueError("a minimum is larger than the maximum")
    if (is_none != (count == nan + inf)).any():
        raise ValueError("a minimum is missing")


_DTYPES: Mapping[type, tuple[str, ...]] = {
    Features: ("i8", "f8", "f8", "f4", "f4"),
    Heads: ("f8",) * 5,
    Outliers: ("i8", "i8", "f4"),
}


def made_of(kind: Callable[..., Any], arrays: Arrays, axes: int) -> Any:
    """Return features, heads or outliers of arrays that all have one shape, of so many axes.

    Raises:
        ValueError: they are others.
        TypeError: one is missing.
    """
    found = kind(**arrays)
    own = [getattr(found, name) for name in found.__struct_fields__]
    if any(one.shape != other.shape for one, other in pairwise(own)) or own[0].ndim != axes:
        raise ValueError("its arrays differ in shape")
    if any(one.dtype != dtype for one, dtype in zip(own, _DTYPES[type(found)], strict=True)):
        raise ValueError("its arrays have the wrong types")
    if any((one < 0).any() or (one >= _MOST).any() for one in own if one.dtype == np.int64):
        raise ValueError("a count is out of bounds")
    return found
