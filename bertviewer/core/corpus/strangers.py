"""Checks that the folder of a corpus, which may be a stranger's, holds what one of ours does."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.architecture.source_info import SourceInfo
from bertviewer.core.corpus.corpus import Corpus, Features, Heads, Outliers
from bertviewer.core.errors import UserError
from bertviewer.core.source.model_source import Kind
from bertviewer.core.source.tasks import find_task

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


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def _is_place(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2
    return is_pair and isinstance(value[0], str) and _is_count(value[1])


def _is_text_pair(value: Any) -> bool:
    return isinstance(value, list) and [type(one) for one in value] == [str, str]


def _is_source(value: Any) -> bool:
    try:
        source = SourceInfo.from_json(value)
        find_task(source.task)
    except (ValueError, UserError):
        return False
    return source.kind in get_args(Kind)


_MANIFEST: Mapping[str, Any] = {
    **dict.fromkeys(("sentences", "tokens", "cut", "unread", "batches", "left_out"), _is_count),
    "command": str,
    "equal_lengths": bool,
    "source": _is_source,
    "model": {"configuration": str, "files": {...: str}},
    "versions": {...: str},
    "choices": {...: (None, bool, _is_count, str)},
    "data": [
        {
            **dict.fromkeys(("name", "sha256"), str),
            **dict.fromkeys(("sentences", "left_out"), _is_count),
            "bytes": (None, _is_count),
            "first_left_out": [_is_text_pair],
        }
    ],
    "shards": [{...: _is_count}],
    "modules": [
        {
            **dict.fromkeys(("path", "class"), str),
            "call": _is_count,
            "same_as": (None, _is_place),
            "left_out": (None, str),
        }
    ],
    "attentions_left_out": (None, [dict.fromkeys(("path", "class", "left_out"), str)]),
    "states": [(None, _is_place)],
    "stacks": (None, [_is_count]),
}
"""What each value can be: a type, what a function is true of, a list of such values, a tuple of
possibilities, a table of such values by their keys, or one whose values are all of a kind."""


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Return if a manifest, without its schema, has all that it should have.

    Raises:
        ValueError: something is missing, or something else, with its key.
    """
    for key, like in _MANIFEST.items():
        if not _fits(manifest.get(key), like):
            why = "is not valid" if key in manifest else "is missing"
            raise ValueError(f"{key} {why}")


def _fits(value: Any, like: Any) -> bool:
    if like is None:
        return value is None
    if isinstance(like, tuple):
        return any(_fits(value, one) for one in like)
    if isinstance(like, list):
        return isinstance(value, list) and all(_fits(one, like[0]) for one in value)
    if isinstance(like, Mapping) and ... in like:
        return isinstance(value, dict) and all(_fits(one, like[...]) for one in value.values())
    if isinstance(like, Mapping):
        return isinstance(value, dict) and all(_fits(value.get(key), like[key]) for key in like)
    return isinstance(value, like) if isinstance(like, type) else bool(like(value))


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
