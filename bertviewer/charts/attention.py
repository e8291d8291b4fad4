"""What the heads of an attention look at, as charts: all of them, one, those of all layers."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct

from bertviewer.charts.chart import GridChart, HeadsChart
from bertviewer.charts.comparison import Alignment, Pairs
from bertviewer.charts.labels import MAX_TOKEN, shortened, token_names, visible
from bertviewer.charts.levels import ColorIndices, Levels, Values, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import AttentionMaps, HeadMeasures, Measure
from bertviewer.core.analysis.tokens import align, text_starts, token_classes
from bertviewer.core.schema.activation_run import ActivationRun

Made = TypeVar("Made")


class RunAttention(Struct, frozen=True, eq=False):
    """A run, and what the heads of one of its attentions look at."""

    run: ActivationRun
    maps: AttentionMaps
    layer: AttentionLayer


class AttentionPair(Struct, frozen=True, eq=False):
    """B and A, and which of A's queries and keys is which of B's."""

    b: RunAttention
    a: RunAttention | None
    partners: Alignment

    def charts(self, make: Callable[[RunAttention], Made]) -> tuple[Made, Made | None]:
        """Return what is made of B and of A."""
        return make(self.b), None if self.a is None else make(self.a)


class AllHeadsChart(GridChart, frozen=True, eq=False):
    """A figure of each head, and if wanted what it looks at: small pictures [A, n, n] by row."""

    pictures: Mapping[int, ColorIndices] | None = None


def heads_chart(attended: RunAttention, is_root: bool = False) -> HeadsChart:
    """Return all heads, with the entropy H in nats and the mean distance d in tokens of each.

    Colours follow the square roots of the shares if ``is_root``.
    """
    maps, names = attended.maps, token_names(attended.run.tokens)
    return HeadsChart(
        values=maps.probabilities,
        captions=tuple(_caption(maps, head) for head in range(len(maps.probabilities))),
        queries=tuple(names[token] for token in maps.query_tokens),
        keys=tuple(names[token] for token in maps.key_tokens),
        value_title=translate("charts", "Attention"),
        subject=attended.layer.name,
        cell_text=translate("charts", "head {0}, query {1} → key {2}: {3}"),
        is_root=is_root,
        levels=_levels(maps.probabilities),
        query_starts=_starts(attended.run, maps.query_tokens),
        key_starts=_starts(attended.run, maps.key_tokens),
        masked=maps.masked,
        masked_word=translate("charts", "masked"),
    )


def head_chart(
    attended: RunAttention, head: int, is_root: bool = False, name: str = ""
) -> GridChart:
    """Return what each query token (rows) takes from each key token (columns) in one head.

    A row stands for its query token. Columns stand for tokens only where those are of another
    text than the queries. Colours follow the square roots of the shares if ``is_root``. What is no
    single head has another ``name``.
    """
    run, maps = attended.run, attended.maps
    names = token_names(run.tokens)
    queries, keys = maps.query_tokens, maps.key_tokens
    values = maps.probabilities[head]
    query, key = (
        translate("charts", "query {0}"),
        translate("charts", "key {0}"),
    )
    return GridChart(
        values=values,
        rows=tuple(visible(run.tokens[token].text) for token in queries),
        columns=tuple(visible(run.tokens[token].text) for token in keys),
        row_keys=tuple(SelectionKey(token=token) for token in queries),
        column_keys=tuple(SelectionKey(token=token) for token in keys) if maps.is_cross else (),
        x_title=translate("charts", "Key"),
        y_title=translate("charts", "Query"),
        value_title=translate("charts", "Attention"),
        subject=f"{attended.layer.name}, {name}" if name else _of_head(attended, head),
        is_root=is_root,
        is_top_down=True,
        levels=_levels(values),
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
    name: str = "",
    pictures: Mapping[AttentionLayer, ColorIndices] | None = None,
) -> AllHeadsChart:
    """Return a figure of each head (columns) in each attention (rows), the first one below.

    An attention without figures has an empty row. Columns stand for heads; rows for nothing,
    because the calls of a shared layer are one module. ``name`` is the measure's.
    """
    rows = [figures[layer].get(measure) if layer in figures else None for layer in layers]
    count = max((len(row) for each in figures.values() for row in each.values()), default=0)
    values = np.full((len(layers), count), np.nan)
    for number, row in enumerate(rows):
        if row is not None:
            values[number, : len(row)] = row
    head = translate("charts", "head {0}")
    return AllHeadsChart(
        values=values,
        rows=tuple(layer.label for layer in layers),
        columns=tuple(map(str, range(count))),
        column_keys=tuple(SelectionKey(head=number) for number in range(count)),
        x_title=translate("charts", "Head"),
        y_title=translate("charts", "Layer"),
        value_title=_measured(measure, name),
        row_names=tuple(layer.name for layer in layers),
        column_names=tuple(map(head.format, range(count))),
        # Shares begin at nothing: heads that differ by little look alike.
        levels=None if measure in ("entropy", "distance") else _levels(values),
        pictures=None
        if pictures is None
        else {row: pictures[layer] for row, layer in enumerate(layers) if layer in pictures},
    )


def measure_names(run: ActivationRun) -> dict[Measure, str]:
    """Return the measures that heads have in a run, each with a short name, as for a list."""
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


def _measured(measure: Measure, name: str) -> str:
    """Return what a figure is in full."""
    units = {
        "entropy": translate("charts", "Entropy (nats)"),
        "distance": translate("charts", "Distance (tokens)"),
    }
    share = translate("charts", "Attention to: {0}")
    return units.get(measure) or share.format(name or measure)


def token_pairs(pairs: Pairs, a: Sequence[int], b: Sequence[int]) -> Pairs:
    """Return which of the tokens ``a`` of run A is which of the tokens ``b``, by their indices."""
    places_in_a = {token: index for index, token in enumerate(a)}
    places_in_b = {token: index for index, token in enumerate(b)}
    return [
        (places_in_a[mine], places_in_b[other])
        for mine, other in pairs
        if mine in places_in_a and other in places_in_b
    ]


def attention_pair(b: RunAttention, a: RunAttention | None) -> AttentionPair:
    """Put the attention of both runs together."""
    if a is None:
        return AttentionPair(b, None, Alignment())
    tokens = align(a.run.tokens, b.run.tokens)
    queries = token_pairs(tokens, a.maps.query_tokens, b.maps.query_tokens)
    keys = token_pairs(tokens, a.maps.key_tokens, b.maps.key_tokens)
    return AttentionPair(b, a, Alignment(tokens, queries, keys))


def _starts(run: ActivationRun, tokens: Sequence[int]) -> tuple[int, ...]:
    """Return where further texts begin among some of the tokens, if another one is before them."""
    places = (bisect_left(tokens, start) for start in text_starts(run.tokens))
    return tuple(place for place in dict.fromkeys(places) if 0 < place < len(tokens))


def _of_head(attended: RunAttention, head: int) -> str:
    name = translate("charts", "head {0}").format(head)
    return f"{attended.layer.name}, {name}"


def _caption(maps: AttentionMaps, head: int) -> str:
    """Return the figures in as few letters as do: the heatmaps are small."""
    entropy = f"H {maps.entropies[head]:.1f}"
    if maps.distances is None:
        return entropy
    distance = maps.distances[head]
    return f"{entropy}  d {distance:.{0 if distance >= 9.95 else 1}f}"


def _levels(values: Values) -> Levels:
    """Return the range from 0 to the largest share: colours of shares begin at nothing."""
    return 0.0, levels_of(values)[1]
