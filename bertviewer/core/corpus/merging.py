"""Shards become a corpus, and corpora become one: in order, in float64, and without torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bertviewer.core.corpus.choices import MOST_SHARDS
from bertviewer.core.corpus.corpus import (
    SCHEMA,
    ClassSums,
    Corpus,
    Features,
    Heads,
    Outliers,
)
from bertviewer.core.corpus.measured import Attention, Measured
from bertviewer.core.corpus.plan import FOLDER, NAME, read_plan
from bertviewer.core.corpus.reading import is_corpus, read_corpus
from bertviewer.core.corpus.shard_files import (
    COUNTED,
    Arrays,
    Shard,
    check_fits,
    read_shard,
    shard_file,
)
from bertviewer.core.corpus.strangers import check_sound
from bertviewer.core.corpus.sums import COUNTS, HEAD_SUMS, larger
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

DIFFERS = "differs"
"""What a manifest says of a version or a choice that was not the same in what was merged."""
_OF_RUNS = ("versions", "choices")
_COUNTED = ("sentences", "tokens", "cut", "unread", "batches")


def merge_shards(
    folders: Sequence[Path], plan: Mapping[str, Any], command: str, progress: Progress = no_progress
) -> Corpus:
    """Return the corpus of all shards of a plan, which may lie in several folders.

    Raises:
        UserError: one is missing, or no shard of this plan, or the plan is damaged.
        Cancelled: by ``progress``.
    """
    try:
        return _merged(folders, plan, command, progress)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Those of a run of this program are what it wrote.
        names = ", ".join(map(str, folders))
        raise UserError(f"{names}: the shards or their plan are corrupt: {error}") from error


def _merged(
    folders: Sequence[Path], plan: Mapping[str, Any], command: str, progress: Progress
) -> Corpus:
    count, whole = int(plan["shards"]), None
    measured = Measured.from_json(plan["measured"])
    if not 0 < count <= MOST_SHARDS:
        raise ValueError(f"there are no {count:,} shards")
    told: list[dict[str, int]] = []
    for number in range(count):
        progress(number, count, f"Merging shard {number + 1:,} of {count:,}")
        files = [shard_file(folder, number) for folder in folders]
        file = next((file for file in files if file.exists()), None)
        if file is None:
            missing = sum(
                not any(shard_file(folder, n).exists() for folder in folders) for n in range(count)
            )
            names = ", ".join(map(str, folders))
            raise UserError(
                f"{names}: {missing:,} of {count:,} shards are missing, first number {number}; "
                "run the same command again to continue"
            )
        shard = read_shard(file)
        check_fits(shard, measured)
        told.append(dict(zip(COUNTED, shard.counted.tolist(), strict=True)))
        whole = shard if whole is None else whole.added(shard)
    assert whole is not None  # there is always one
    corpus = _corpus(whole, measured, _manifest(plan, measured, told, command))
    check_sound(corpus)
    return corpus


def merge_corpora(
    folders: Sequence[Path], command: str, progress: Progress = no_progress
) -> Corpus:
    """Return one corpus of several: of finished ones, or of the parts of one that is not.

    Raises:
        UserError: they are not of the same model, or not all of one kind.
        Cancelled: by ``progress``.
    """
    if not folders:
        raise UserError("nothing to merge")
    places = [folder.resolve() for folder in folders]
    if twice := [
        folder for folder, place in zip(folders, places, strict=True) if places.count(place) > 1
    ]:
        raise UserError(f"{twice[0]}: given twice; it would be counted twice")
    are_done = [is_corpus(folder) for folder in folders]
    if not any(are_done):
        plans = [read_plan(folder / FOLDER / NAME) for folder in folders]
        if any(plan != plans[0] for plan in plans):
            raise UserError(
                f"{folders[-1]}: its shards come from a different run than those of {folders[0]}"
            )
        return merge_shards(folders, plans[0], command, progress)
    if not all(are_done):
        other = folders[are_done.index(False)]
        raise UserError(f"{other}: it is unfinished, unlike the others; finish its run first")
    merged = None
    for number, folder in enumerate(folders):
        progress(number, len(folders), f"Merging {folder.name}")
        corpus = read_corpus(folder)
        merged = corpus if merged is None else _both(merged, corpus, folder)
    assert merged is not None  # there is one folder at least
    manifest = {**merged.manifest, "command": command}
    return Corpus(manifest, merged.rows, merged.features, merged.heads, merged.outliers)


def _manifest(
    plan: Mapping[str, Any], measured: Measured, told: list[dict[str, int]], command: str
) -> dict[str, Any]:
    known = {key: plan[key] for key in ("source", "model", "versions", "choices", "data")}
    modules = [
        {
            "path": seen.path,
            "class": seen.class_name,
            "call": seen.number,
            "same_as": None if seen.measured is None else _shared(measured, seen.measured, seen),
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
        **{name: sum(one[name] for one in told) for name in _COUNTED},
        "left_out": sum(file["left_out"] for file in plan["data"]),
        "shards": told,
        "equal_lengths": not measured.hides_padding,
        "modules": modules,
        "attentions_left_out": [
            {"path": path, "class": name, "left_out": why} for path, name, why in measured.no_heads
        ],
        "states": states,
        "stacks": list(measured.stacks),
    }


def _shared(measured: Measured, place: int, seen: Any) -> list[Any] | None:
    call = measured.calls[place]
    is_own = (call.path, call.number) == (seen.path, seen.number)
    return None if is_own else [call.path, call.number]


def _corpus(shard: Shard, measured: Measured, manifest: Mapping[str, Any]) -> Corpus:
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
    names = ("tokens", "sentences", "farthest")
    outliers = (
        {name: np.stack([state[name] for state in shard.states]) for name in names}
        if (shard.states)
        else None
    )
    return Corpus(
        manifest, tuple(rows), features, heads, None if outliers is None else Outliers(**outliers)
    )


def _rows(path: str, call: int, classes: Sequence[str], sums: Arrays) -> list[ClassSums]:
    width = len(sums["totals"])
    found = []
    for place, name in enumerate(classes):
        rows, zeros, nan, inf = (int(sums["counts"][place, COUNTS.index(key)]) for key in COUNTS)
        if not rows:
            continue
        low, high = (float(sums[key][place]) for key in ("class_mins", "class_maxs"))
        is_there = low <= high
        found.append(
            ClassSums(
                path,
                call,
                name,
                rows * width,
                float(sums["class_totals"][place]),
                float(sums["class_squares"][place]),
                low if is_there else None,
                high if is_there else None,
                zeros,
                nan,
                inf,
                sums["histogram"][place],
            )
        )
    return found


def _features(sums: Arrays) -> Features:
    count = sums["counts"][:, COUNTS.index("rows")].sum() - sums["left_out"]
    some = np.where(count > 0, count, np.nan)
    mean = sums["totals"] / some
    variance = np.maximum(sums["squares"] / some - mean * mean, 0.0)
    is_there = count > 0
    return Features(
        count,
        mean,
        variance,
        np.where(is_there, sums["mins"], np.float32(np.nan)),
        np.where(is_there, sums["maxs"], np.float32(np.nan)),
    )


def _heads(sums: Arrays, attention: Attention) -> Heads:
    queries, *others = sums["sums"].T
    some = np.where(queries > 0, queries, np.nan)
    assert HEAD_SUMS[0] == "queries"
    found = Heads(np.array(queries), *(other / some for other in others))
    # Places in two texts are no distance apart.
    return replace(found, distance=np.full_like(some, np.nan)) if attention.is_cross else found


def _both(left: Corpus, right: Corpus, folder: Path) -> Corpus:
    """Return two corpora as one."""
    for key in ("source", "model", "modules", "states", "stacks"):
        if left.manifest.get(key) != right.manifest.get(key):
            raise UserError(
                f"{folder}: it was made with another model than the first, or with other modules"
            )
    if _shapes(left) != _shapes(right):
        raise UserError(f"{folder}: its features or heads differ from those of the first")
    rows = {(row.path, row.call, row.token_class): row for row in left.rows}
    for row in right.rows:
        place = row.path, row.call, row.token_class
        rows[place] = rows[place].added(row) if place in rows else row
    order = {place: number for number, place in enumerate(left.places)}
    features = {place: found.added(right.features[place]) for place, found in left.features.items()}
    heads = {place: _both_heads(found, right.heads[place]) for place, found in left.heads.items()}
    outliers = None
    if left.outliers is not None and right.outliers is not None:
        outliers = Outliers(
            left.outliers.tokens + right.outliers.tokens,
            left.outliers.sentences + right.outliers.sentences,
            larger(left.outliers.farthest, right.outliers.farthest),
        )
    manifest = {
        **left.manifest,
        **{name: left.manifest[name] + right.manifest[name] for name in (*_COUNTED, "left_out")},
        **{name: [*left.manifest[name], *right.manifest[name]] for name in ("data", "shards")},
        **{name: _agreed(left.manifest[name], right.manifest[name]) for name in _OF_RUNS},
    }
    ordered = sorted(rows.values(), key=lambda row: order.get((row.path, row.call), len(order)))
    return Corpus(manifest, tuple(ordered), features, heads, outliers)


def _agreed(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Return what both say, and of what they say otherwise that they do."""
    return {
        key: left.get(key) if left.get(key) == right.get(key) else DIFFERS
        for key in dict.fromkeys((*left, *right))
    }


def _shapes(corpus: Corpus) -> list[Any]:
    return [
        {place: found.count.shape for place, found in corpus.features.items()},
        {place: found.queries.shape for place, found in corpus.heads.items()},
        None if corpus.outliers is None else corpus.outliers.tokens.shape,
    ]


def _both_heads(left: Heads, right: Heads) -> Heads:
    queries = left.queries + right.queries
    some = np.where(queries > 0, queries, np.nan)
    pairs = ((getattr(left, name), getattr(right, name)) for name in HEAD_SUMS[1:])
    return Heads(
        queries,
        *(
            np.where(
                np.isnan(one) & np.isnan(other),
                np.nan,
                (left.queries * np.nan_to_num(one) + right.queries * np.nan_to_num(other)) / some,
            )
            for one, other in pairs
        ),
    )
