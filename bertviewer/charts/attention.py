"""Charts of attention: all heads of a layer, one head, and the measures of all layers' heads."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from bertviewer.charts.chart import GridChart, HeadsChart
from bertviewer.charts.comparison import Alignment, Pairs
from bertviewer.charts.labels import MAX_TOKEN, shortened, token_names, visible
from bertviewer.charts.levels import PARTS, ROUNDING, ColorIndices, Values, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import AttentionMaps, HeadMeasures, Measure
from bertviewer.core.analysis.tokens import align, text_starts, token_classes
from bertviewer.core.schema.activation_run import ActivationRun

Made = TypeVar("Made")


class RunAttention(Struct, frozen=True, eq=False):
    """The attention of one layer in a run."""

    run: ActivationRun
    maps: AttentionMaps
    layer: AttentionLayer


class AttentionPair(Struct, frozen=True, eq=False):
    """The attention of B and, if there is one, A, with the pairs of the same queries and keys."""

    b: RunAttention
    a: RunAttention | None
    partners: Alignment

    def charts(self, make: Callable[[RunAttention], Made]) -> tuple[Made, Made | None]:
        """Return a function's results for B and A."""
        return make(self.b), None if self.a is None else make(self.a)


class AllHeadsChart(GridChart, frozen=True, eq=False):
    """A measure of each head, optionally with small images [A, n, n] of attention by row."""

    pictures: Mapping[int, ColorIndices] | None = None


def heads_chart(attention: RunAttention, is_root: bool = False) -> HeadsChart:
    """Return all heads, with their entropies H in nats and mean distances d in tokens.

    ``is_root``: the colours follow the square roots of the weights.
    """
    run, maps = attention.run, attention.maps
    names, texts = token_names(run.tokens), [visible(token.text) for token in run.tokens]
    return HeadsChart(
        values=maps.probabilities,
        captions=tuple(_caption(maps, head) for head in range(len(maps.probabilities))),
        queries=tuple(names[token] for token in maps.query_tokens),
        keys=tuple(names[token] for token in maps.key_tokens),
        value_title=translate("charts", "Attention"),
        subject=attention.layer.name,
        cell_text=translate("charts", "head {0}, query {1} → key {2}: {3}"),
        is_root=is_root,
        levels=levels_of(maps.probabilities, bounds=PARTS),
        query_starts=_starts(run, maps.query_tokens),
        key_starts=_starts(run, maps.key_tokens),
        masked=maps.masked,
        masked_word=translate("charts", "masked"),
        query_labels=tuple(texts[token] for token in maps.query_tokens),
        key_labels=tuple(texts[token] for token in maps.key_tokens),
    )


def head_chart(
    attention: RunAttention, head: int, is_root: bool = False, name: str = ""
) -> GridChart:
    """Return the attention of each query token (rows) to each key token (columns) in one head.

    Rows select query tokens; columns select key tokens only in cross-attention.

    Args:
        attention: the attention of a layer.
        head: the head.
        is_root: the colours follow the square roots of the weights.
        name: replaces the number of the head, such as for the mean of all.
    """
    run, maps = attention.run, attention.maps
    names, texts = token_names(run.tokens), [visible(token.text) for token in run.tokens]
    queries, keys = maps.query_tokens, maps.key_tokens
    values = maps.probabilities[head]
    query, key = translate("charts", "query {0}"), translate("charts", "key {0}")
    name = name or translate("charts", "head {0}").format(head)
    return GridChart(
        values=values,
        rows=tuple(texts[token] for token in queries),
        columns=tuple(texts[token] for token in keys),
        row_keys=tuple(SelectionKey(token=token) for token in queries),
        column_keys=tuple(SelectionKey(token=n) for n in keys) if maps.is_cross else (),
        x_title=translate("charts", "Key"),
        y_title=translate("charts", "Query"),
        value_title=translate("charts", "Attention"),
        subject=f"{attention.layer.name}, {name}",
        is_root=is_root,
        is_top_down=True,
        levels=levels_of(values, bounds=PARTS),
        row_names=tuple(query.format(names[token]) for token in queries),
        column_names=tuple(key.format(names[token]) for token in keys),
        row_starts=_starts(run, queries),
        column_starts=_starts(run, keys),
        masked=None if maps.masked is None else maps.masked[head],
        masked_word=translate("charts", "masked"),
        joint=" → ",
    )


def head_measures_chart(
    layers: Sequence[AttentionLayer],
    figures: Mapping[AttentionLayer, HeadMeasures],
    measure: Measure,
    *,
    keys: int = 0,
    name: str = "",
    pictures: Mapping[AttentionLayer, ColorIndices] | None = None,
) -> AllHeadsChart:
    """Return a measure of each head (columns) in each attention layer (rows, the first below).

    Layers without measures have empty rows. Columns select heads; rows select nothing, because the
    calls of a shared layer are one module. ``name`` is that of the measure. Entropies of ``keys``
    keys have a scale up to that of uniform attention.
    """
    rows = [figures[layer].get(measure) if layer in figures else None for layer in layers]
    count = max((len(row) for each in figures.values() for row in each.values()), default=0)
    values = np.full((len(layers), count), np.nan)
    for number, row in enumerate(rows):
        if row is not None:
            values[number, : len(row)] = row
    small = None
    if pictures is not None:
        small = {row: pictures[layer] for row, layer in enumerate(layers) if layer in pictures}
    titles = {
        "entropy": translate("charts", "Entropy (nats)"),
        "distance": translate("charts", "Distance (tokens)"),
    }
    share = translate("charts", "Attention to: {0}").format(name or measure)
    return AllHeadsChart(
        values=values,
        rows=tuple(layer.label for layer in layers),
        columns=tuple(map(str, range(count))),
        column_keys=tuple(SelectionKey(head=number) for number in range(count)),
        x_title=translate("charts", "Head"),
        y_title=translate("charts", "Layer"),
        value_title=titles.get(measure, share),
        row_names=tuple(layer.name for layer in layers),
        column_names=tuple(map(translate("charts", "head {0}").format, range(count))),
        **_measure_scale(values, measure, keys),
        pictures=small,
    )


def _measure_scale(values: Values, measure: Measure, keys: int) -> dict[str, Any]:
    """Return the range of a measure's colours, from 0, and the label of its end."""
    if measure not in ("entropy", "distance"):
        return {"levels": levels_of(values, bounds=PARTS)}
    high, most = levels_of(values)[1], log(keys) if keys > 1 else 0.0
    if measure == "entropy" and high <= most * (1 + ROUNDING):
        return {"levels": (0.0, most), "end_label": f"ln {keys}"}
    return {"levels": (0.0, high)}


def most_keys(run: ActivationRun) -> int:
    """Return the largest number of tokens that a query attends to, in any stack."""
    segments = [token.segment for token in run.tokens]
    has_stacks = any(len(paths) > 1 for paths in run.state_paths)
    return max(map(segments.count, (0, 1))) if has_stacks else len(segments)


def measure_names(run: ActivationRun) -> dict[Measure, str]:
    """Return the measures of heads in a run with short names."""
    labels = {one.name: one.label for one in token_classes(run)}
    names: dict[Measure, str] = {
        "entropy": translate("charts", "entropy"),
        "distance": translate("charts", "distance"),
        "previous": translate("charts", "previous token"),
        "next": translate("charts", "next token"),
        "same": translate("charts", "same token"),
    }
    if "cls" in labels:
        names["cls"] = shortened(labels["cls"], MAX_TOKEN)
    if "sep" in labels:
        names["sep"] = shortened(labels["sep"], MAX_TOKEN)
    if run.tokens and run.tokens[0].text not in labels.get("cls", "").split():
        names["first"] = translate("charts", "first token")
    return names


def attention_pair(b: RunAttention, a: RunAttention | None) -> AttentionPair:
    """Align the attention of two runs."""
    if a is None:
        return AttentionPair(b, None, Alignment())
    tokens = align(a.run.tokens, b.run.tokens)
    queries = token_pairs(tokens, a.maps.query_tokens, b.maps.query_tokens)
    keys = token_pairs(tokens, a.maps.key_tokens, b.maps.key_tokens)
    return AttentionPair(b, a, Alignment(tokens, queries, keys))


def token_pairs(pairs: Pairs, a: Sequence[int], b: Sequence[int]) -> Pairs:
    """Return pairs of tokens as pairs of their indices in ``a`` and ``b``."""
    in_a, in_b = ({token: index for index, token in enumerate(tokens)} for tokens in (a, b))
    return [(in_a[one], in_b[other]) for one, other in pairs if one in in_a and other in in_b]


def _starts(run: ActivationRun, tokens: Sequence[int]) -> tuple[int, ...]:
    """Return the indices in ``tokens`` where further texts begin."""
    starts = dict.fromkeys(bisect_left(tokens, start) for start in text_starts(run.tokens))
    return tuple(start for start in starts if 0 < start < len(tokens))


def _caption(maps: AttentionMaps, head: int) -> str:
    """Return the entropy and distance of a head in few characters."""
    entropy = f"H {maps.entropies[head]:.1f}"
    if maps.distances is None:
        return entropy
    distance = maps.distances[head]
    return f"{entropy}  d {distance:.{0 if distance >= 9.95 else 1}f}"
