"""Merging of shards into a corpus, and of corpora: in order, in float64, without torch."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bertviewer.core.corpus.corpus import SCHEMA, ClassSums, Corpus, Features, Heads, Outliers
from bertviewer.core.corpus.measurement_spec import Attention, MeasurementSpec
from bertviewer.core.corpus.options import MAX_SHARDS
from bertviewer.core.corpus.plan import PLAN_FILE, SHARDS_FOLDER, read_plan
from bertviewer.core.corpus.reading import check_corpus, is_corpus, read_corpus
from bertviewer.core.corpus.shards import COUNTED, Arrays, Shard, check_fits, read_shard, shard_file
from bertviewer.core.statistics.accumulators import COUNTS
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

DIFFERS = "differs"
"""Value in a manifest of a version or an option that differs between merged corpora."""
_PER_RUN = ("versions", "choices")


def merge_shards(
    folders: Sequence[Path], plan: Mapping[str, Any], command: str, progress: Progress = no_progress
) -> Corpus:
    """Return the corpus of all shards of a plan, which may be in several folders.

    Raises:
        UserError: a shard is missing or invalid, or the plan is.
        Cancelled: by ``progress``.
    """
    names = ", ".join(map(str, folders))
    try:
        count, measured = int(plan["shards"]), MeasurementSpec.from_json(plan["measured"])
        if not 0 < count <= MAX_SHARDS:
            raise ValueError(f"there are no {count:,} shards")
        whole: Shard | None = None
        counts: list[dict[str, int]] = []
        for number in range(count):
            progress(number, count, f"Merging shard {number + 1:,} of {count:,}")
            if (file := _existing(folders, number)) is None:
                missing = sum(_existing(folders, n) is None for n in range(count))
                raise UserError(
                    f"{names}: {missing:,} of {count:,} shards are missing, first number {number}; "
                    "run the same command again to continue"
                )
            shard = read_shard(file)
            check_fits(shard, measured)
            counts.append(dict(zip(COUNTED, shard.counted.tolist(), strict=True)))
            whole = shard if whole is None else whole.merge(shard)
        assert whole is not None  # count is positive
        corpus = _corpus(whole, measured, _manifest(plan, measured, counts, command))
        check_corpus(corpus)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UserError(f"{names}: the shards or their plan are corrupt: {error}") from error
    return corpus


def _existing(folders: Iterable[Path], number: int) -> Path | None:
    files = (shard_file(folder, number) for folder in folders)
    return next((file for file in files if file.exists()), None)


def merge_corpora(
    folders: Sequence[Path], command: str, progress: Progress = no_progress
) -> Corpus:
    """Return one corpus of several finished ones, or of the parts of an unfinished one.

    Raises:
        UserError: they differ in the model, or some are unfinished.
        Cancelled: by ``progress``.
    """
    if not folders:
        raise UserError("nothing to merge")
    places = [folder.resolve() for folder in folders]
    for folder, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{folder}: given twice; it would be counted twice")
    are_done = [is_corpus(folder) for folder in folders]
    if not any(are_done):
        plans = [read_plan(folder / SHARDS_FOLDER / PLAN_FILE) for folder in folders]
        if any(plan != plans[0] for plan in plans):
            raise UserError(
                f"{folders[-1]}: its shards come from a different run than those of {folders[0]}"
            )
        return merge_shards(folders, plans[0], command, progress)
    if not all(are_done):
        other = folders[are_done.index(False)]
        raise UserError(f"{other}: it is unfinished, unlike the others; finish its run first")
    merged: Corpus | None = None
    for number, folder in enumerate(folders):
        progress(number, len(folders), f"Merging {folder.name}")
        corpus = read_corpus(folder)
        merged = corpus if merged is None else _merge_two(merged, corpus, folder)
    assert merged is not None  # there is at least one folder
    return replace(merged, manifest={**merged.manifest, "command": command})


def _manifest(
    plan: Mapping[str, Any], measured: MeasurementSpec, counts: list[dict[str, int]], command: str
) -> dict[str, Any]:
    known = {key: plan[key] for key in ("source", "model", "versions", "choices", "data")}
    modules = [
        {
            "path": seen.path,
            "class": seen.class_name,
            "call": seen.number,
            "same_as": None if seen.measured is None else _same_as(measured, seen.measured, seen),
            "left_out": seen.left_out or None,
        }
        for seen in measured.seen
    ]
    states = [
        None if place is None else [measured.calls[place].path, measured.calls[place].number]
        for place in measured.state_calls
    ]
    return {
        "schema": SCHEMA,
        "command": command,
        **known,
        **{name: sum(one[name] for one in counts) for name in COUNTED},
        "left_out": sum(file["left_out"] for file in plan["data"]),
        "shards": counts,
        "equal_lengths": not measured.hides_padding,
        "modules": modules,
        "attentions_left_out": [
            {"path": path, "class": name, "left_out": why} for path, name, why in measured.no_heads
        ],
        "states": states,
        "stacks": list(measured.stacks),
    }


def _same_as(measured: MeasurementSpec, place: int, seen: Any) -> list[Any] | None:
    call = measured.calls[place]
    is_own = (call.path, call.number) == (seen.path, seen.number)
    return None if is_own else [call.path, call.number]


def _corpus(shard: Shard, measured: MeasurementSpec, manifest: Mapping[str, Any]) -> Corpus:
    rows: list[ClassSums] = []
    for seen in measured.seen:
        if seen.measured is not None:
            classes, sums = measured.calls[seen.measured].classes, shard.rows[seen.measured]
            rows += _rows(seen.path, seen.number, classes, sums)
    features = {
        (call.path, call.number): _features(sums)
        for call, sums in zip(measured.calls, shard.rows, strict=True)
    }
    heads = {
        (one.path, one.number): _heads(sums, one)
        for one, sums in zip(measured.attentions, shard.heads, strict=True)
    }
    names = Outliers.__struct_fields__
    outliers = (
        Outliers(*(np.stack([state[name] for state in shard.states]) for name in names))
        if shard.states
        else None
    )
    return Corpus(manifest, tuple(rows), features, heads, outliers)


def _rows(path: str, call: int, classes: Sequence[str], sums: Arrays) -> Iterable[ClassSums]:
    width = len(sums["totals"])
    for place, name in enumerate(classes):
        rows, zeros, nan, inf = sums["counts"][place].tolist()
        if not rows:
            continue
        total, squares, low, high = (
            float(sums[f"class_{key}"][place]) for key in ("totals", "squares", "mins", "maxs")
        )
        has_finite = low <= high
        yield ClassSums(
            path,
            call,
            name,
            rows * width,
            total,
            squares,
            low if has_finite else None,
            high if has_finite else None,
            zeros,
            nan,
            inf,
            sums["histogram"][place],
        )


def _features(sums: Arrays) -> Features:
    count = sums["counts"][:, COUNTS.index("rows")].sum() - sums["left_out"]
    some = np.where(count > 0, count, np.nan)
    mean = sums["totals"] / some
    variance = np.maximum(sums["squares"] / some - mean * mean, 0.0)
    has_finite = count > 0
    return Features(
        count,
        mean,
        variance,
        np.where(has_finite, sums["mins"], np.float32(np.nan)),
        np.where(has_finite, sums["maxs"], np.float32(np.nan)),
    )


def _heads(sums: Arrays, attention: Attention) -> Heads:
    queries, *others = sums["sums"].T
    some = np.where(queries > 0, queries, np.nan)
    found = Heads(np.array(queries), *(other / some for other in others))
    # Positions in two texts have no distance.
    return replace(found, distance=np.full_like(some, np.nan)) if attention.is_cross else found


def _merge_two(left: Corpus, right: Corpus, folder: Path) -> Corpus:
    for key in ("source", "model", "modules", "states", "stacks"):
        if left.manifest.get(key) != right.manifest.get(key):
            raise UserError(
                f"{folder}: it was made with another model than the first, or with other modules"
            )
    if _shapes(left) != _shapes(right):
        raise UserError(f"{folder}: its features or heads differ from those of the first")
    rows = {(row.key, row.token_class): row for row in left.rows}
    for row in right.rows:
        where = row.key, row.token_class
        rows[where] = rows[where].merge(row) if where in rows else row
    order = {key: number for number, key in enumerate(left.call_keys)}
    outliers = None
    if left.outliers is not None and right.outliers is not None:
        outliers = left.outliers.merge(right.outliers)
    summed, joined = (*COUNTED, "left_out"), ("data", "shards")
    manifest = {
        **left.manifest,
        **{name: left.manifest[name] + right.manifest[name] for name in summed},
        **{name: [*left.manifest[name], *right.manifest[name]] for name in joined},
        **{name: _common(left.manifest[name], right.manifest[name]) for name in _PER_RUN},
    }
    return Corpus(
        manifest,
        tuple(sorted(rows.values(), key=lambda row: order.get(row.key, len(order)))),
        {key: found.merge(right.features[key]) for key, found in left.features.items()},
        {key: found.merge(right.heads[key]) for key, found in left.heads.items()},
        outliers,
    )


def _common(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of both, ``DIFFERS`` where they differ."""
    return {
        key: left.get(key) if left.get(key) == right.get(key) else DIFFERS
        for key in dict.fromkeys((*left, *right))
    }


def _shapes(corpus: Corpus) -> list[Any]:
    return [
        {key: found.count.shape for key, found in corpus.features.items()},
        {key: found.queries.shape for key, found in corpus.heads.items()},
        None if corpus.outliers is None else corpus.outliers.tokens.shape,
    ]
