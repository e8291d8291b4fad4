"""Chapter that compares two runs: B, the run of the report, with A, the baseline."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.attention import RunAttention, attention_pair, head_chart
from bertviewer.charts.chart import GridChart
from bertviewer.charts.classification import best_line, scores_table
from bertviewer.charts.comparison import grid_difference, line_overlay, shared_levels
from bertviewer.charts.labels import MAX_TOKEN, names_of_states, shortened, visible
from bertviewer.charts.layers import layer_chart
from bertviewer.charts.predictions import candidates_table
from bertviewer.charts.token_charts import norms_chart, similarity_chart
from bertviewer.core.analysis.predictions import Guess, classification
from bertviewer.core.analysis.similarity import token_pair_path
from bertviewer.core.analysis.tokens import align
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import count_text, with_minus
from bertviewer.core.util.text import isolated
from bertviewer.report.blocks import Block, Column, Paragraph, Row, Section, See, Strong, Table
from bertviewer.report.chapters.attention import head_name
from bertviewer.report.chapters.predictions import MAX_CLASSES
from bertviewer.report.chapters.sentence import STATISTIC_PHRASES, STATISTIC_TITLES, run_text
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.run_details import BaselineDetails
from bertviewer.report.subject import Subject
from bertviewer.report.tables import cosine_text, exact, layer_table, table_of
from bertviewer.report.words import likelihood, quoted_token

_LAYERS, _HEAD, _NORMS = "figure:runs-layers", "figure:runs-head", "figure:runs-norms"
_NORMS_A, _NORMS_B = "figure:runs-norms-a", "figure:runs-norms-b"
_COSINES = "figure:runs-cosines"
_OTHERS = "table:runs-others"
_SAME, _HEADS, _CLASSES = "table:runs-same", "table:runs-heads", "table:runs-classes"
_SIZE = (480, 480)
MAX_TOKENS = 40
"""Tokens whose vectors are compared in a table."""

Value = float | None
Series = Iterable[tuple[str, Sequence[Value], Sequence[Value]]]
"""Label and statistics of the layers in A and in B, for each stack."""


class _RunPair(Struct, frozen=True, eq=False):
    """Both runs, and the aligned positions in A and in B."""

    a: ActivationRun
    b: ActivationRun
    pairs: Sequence[tuple[int, int]]


def runs(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` without a baseline."""
    b, a = subject.run, subject.baseline
    if b is None or a is None:
        return None
    both = _RunPair(a, b, align(a.tokens, b.tokens))
    pictures = Pictures()
    sections = (
        _statistics(subject, both, pictures),
        _norms(both, pictures),
        _similarity(both, pictures),
        _heads(b, subject.details.baseline, pictures),
        _predictions(subject, both),
    )
    blocks = (
        Paragraph.of(Strong("A"), " ", *run_text(a), look="quote"),
        Paragraph.of(Strong("B"), " ", *run_text(b), look="quote"),
        Paragraph.of(
            count_text(
                len(both.pairs),
                "One of B’s {1} tokens was aligned with A’s {2} by id and order",
                "{0} of B’s {1} tokens were aligned with A’s {2} by id and order",
                len(b.tokens),
                len(a.tokens),
            ),
            "; token-wise comparisons use these pairs.",
        ),
    )
    found = tuple(filter(None, sections))
    return ChapterDraft(Section("runs", "Comparison of two runs", blocks, found), pictures)


def _statistics(subject: Subject, both: _RunPair, pictures: Pictures) -> Section:
    architecture, statistic = subject.architecture, subject.statistic
    of_b, of_a = (layer_chart(architecture, run, statistic) for run in (both.b, both.a))
    phrase = STATISTIC_PHRASES[statistic]
    blocks: list[Block] = [Paragraph(tuple(_output(both)))]
    changes = [
        (abs(difference), number, label)
        for label, values_a, values_b in _series(subject, both, statistic)
        for number, (b, a) in enumerate(zip(values_b, values_a, strict=False))
        if (difference := _difference(b, a)) is not None
    ]
    largest, number, label = max(changes, default=(0.0, 0, ""))
    if largest:
        where = f"layer {number}{f' of {label}' if label else ''}"
        blocks += [
            Paragraph.of(
                See(_LAYERS),
                f" plots the {phrase} of each layer’s output in both runs; ",
                See(_OTHERS),
                " gives the difference B − A of every statistic.",
            ),
            pictures.figure(
                "runs-layers",
                line_overlay(of_b, of_a),
                f"The {phrase} of each layer’s output in B and, dashed, in A. They differ most in "
                f"{where}, by {exact(largest)}.",
                f"Lines over the layers: the {phrase} of each layer’s output in A and in B.",
            ),
            _difference_table(subject, both),
        ]
    elif changes:
        blocks.append(Paragraph.of(f"The {phrase} of each layer’s output is the same in A and B."))
    return Section("runs-statistics", "Statistics of A and B", tuple(blocks))


def _output(both: _RunPair) -> Iterator[str]:
    """Yield the spread of the model's output in both runs."""
    a, b = (run.modules[0].statistics for run in (both.a, both.b))
    stds, lows, highs = (
        [None if value is None else f"{value:.4g}" for value in pair]
        for pair in ((a.std, b.std), (a.min, b.min), (a.max, b.max))
    )
    if None not in (*stds, *lows, *highs):
        yield with_minus(
            f"The model’s output has a standard deviation of {stds[0]} in A and {stds[1]} in B, "
            f"with values from {lows[0]} to {highs[0]} in A and from {lows[1]} to {highs[1]} in B. "
        )
    for name, one in (("A", a), ("B", b)):
        if bad := one.nan_count + one.inf_count:
            yield count_text(
                bad,
                "In {1}, 1 of its elements is not finite. ",
                "In {1}, {0} of its elements are not finite. ",
                name,
            )


def _series(subject: Subject, both: _RunPair, statistic: str) -> Series:
    b, a = (layer_chart(subject.architecture, run, statistic).lines for run in (both.b, both.a))
    for of_b, of_a in zip(b, a, strict=False):
        yield of_b.label if len(b) > 1 else "", of_a.values, of_b.values


def _difference_table(subject: Subject, both: _RunPair) -> Table:
    every = (_series(subject, both, name) for name in STATISTIC_TITLES)
    stacks = (
        (found[0][0], zip(*(map(_difference, of_b, of_a) for _, of_a, of_b in found), strict=True))
        for found in zip(*every, strict=True)
    )
    caption = "The difference B − A of every statistic of a layer’s output."
    return layer_table(stacks, STATISTIC_TITLES.values(), _OTHERS, caption)


def _difference(b: Value, a: Value) -> Value:
    return None if b is None or a is None else b - a


def _norms(both: _RunPair, pictures: Pictures) -> Section | None:
    """Show how the norms of aligned tokens differ, or the norms of both runs."""
    if not both.a.token_norms or not both.b.token_norms:
        return None
    of_b, of_a = norms_chart(both.b), norms_chart(both.a)
    alt = "A heat map of hidden states by tokens, coloured by norm."
    names = names_of_states(both.b)
    changes = [
        (abs(b - a), b - a, state, in_b)
        for state, (row_a, row_b) in enumerate(
            zip(both.a.token_norms, both.b.token_norms, strict=False)
        )
        for in_a, in_b in both.pairs
        if (a := row_a[in_a]) is not None and (b := row_b[in_b]) is not None
    ]
    if not changes:
        level_b, level_a = shared_levels(of_b, of_a)
        blocks: tuple[Block, ...] = (
            Paragraph.of(
                See(_NORMS_A),
                " and ",
                See(_NORMS_B),
                " show the Euclidean norm of each token’s vector on the same colour scale.",
            ),
            pictures.figure("runs-norms-a", level_a, "Norm of each token’s vector in A.", alt),
            pictures.figure("runs-norms-b", level_b, "Norm of each token’s vector in B.", alt),
        )
        return Section("runs-norms", "Token norms of A and B", blocks)
    size, change, state, token = max(changes)
    if not size:
        words = Paragraph.of("The norms of the aligned tokens’ vectors are the same in A and B.")
        return Section("runs-norms", "Token norms of A and B", (words,))
    blocks = (
        Paragraph.of(
            See(_NORMS), " shows how much longer or shorter the vectors of aligned tokens are in B."
        ),
        pictures.figure(
            "runs-norms",
            grid_difference(of_b, of_a, both.pairs),
            with_minus(
                "Norm of each token’s vector, B − A; tokens without a partner in A are blank. The "
                f"largest difference is that of {quoted_token(both.b, token)} in {names[state]} "
                f"({change:+.2f})."
            ),
            alt,
        ),
    )
    return Section("runs-norms", "Token norms of A and B", blocks)


def _similarity(both: _RunPair, pictures: Pictures) -> Section | None:
    """Compare the vectors of aligned tokens; ``None`` if there are none, or states differ."""
    found = tuple(
        (in_b, in_a, path)
        for in_a, in_b in both.pairs[:MAX_TOKENS]
        if (path := token_pair_path(both.a, in_a, in_b, both.b))
    )
    if not found or len(both.a.hidden_states) != len(both.b.hidden_states):
        return None
    names, last = names_of_states(both.b), len(both.b.hidden_states) - 1
    ends = sorted((end, in_b) for in_b, _, path in found if (end := path[last]) is not None)
    words: list[str | See] = [
        "A token has a cosine of 1 with itself in the other run if its context makes no "
        "difference. "
    ]
    if len(ends) > 1 and ends[0][0] < ends[-1][0]:
        (low, changed), (high, kept) = ends[0], ends[-1]
        one, other = (quoted_token(both.b, token) for token in (changed, kept))
        words.append(
            f"In {names[last]}, {one} changes most, with a cosine of {cosine_text(low)}, and "
            f"{other} least, with {cosine_text(high)}. "
        )
    shown = tuple(dict.fromkeys((0, last // 2, last)))
    rows = tuple(
        Row.of(
            f"{in_b} {shortened(visible(both.b.tokens[in_b].text), MAX_TOKEN)}",
            str(in_a),
            *(cosine_text(path[state]) for state in shown),
        )
        for in_b, in_a, path in found
    )
    columns = (
        Column("Token of B", share=1),
        Column("Index in A", "right"),
        *(Column(names[state], "decimal") for state in shown),
    )
    blocks: list[Block] = [
        Paragraph.of(*words, See(_SAME), " lists the aligned tokens."),
        Table(columns, rows, _SAME, ("Cosine between the vectors of a token in A and in B.",)),
    ]
    b, a = similarity_chart(both.b, last), similarity_chart(both.a, last)
    change = grid_difference(b, a, both.pairs, both.pairs)
    row, column, value = _largest(change)
    if value:
        one, other = (quoted_token(both.b, place) for place in (row, column))
        blocks += [
            Paragraph.of(See(_COSINES), " shows how the cosines of pairs differ between the runs."),
            pictures.figure(
                "runs-cosines",
                Picture(change, *_SIZE),
                with_minus(
                    f"Cosine of each pair of tokens in {names[last]}, B − A. It changes most for "
                    f"{one} and {other} ({value:+.2f})."
                ),
                "A heat map of tokens by tokens, coloured by the difference of the cosines.",
                0.6,
            ),
        ]
    return Section("runs-similarity", "Similarity of A and B", tuple(blocks))


def _heads(
    run: ActivationRun, baseline: BaselineDetails | None, pictures: Pictures
) -> Section | None:
    """List the heads whose attention changed; ``None`` if none did or none is known."""
    if baseline is None or baseline.maps is None:
        return None
    first = baseline.heads[0]
    of_b, of_a = baseline.maps
    pair = attention_pair(
        RunAttention(run, of_b, first.layer), RunAttention(baseline.run, of_a, first.layer)
    )
    b, a = pair.charts(lambda attended: head_chart(attended, first.head))
    assert a is not None
    difference = grid_difference(b, a, pair.partners.columns, pair.partners.rows)
    rows = tuple(
        Row.of(each.layer.name, str(each.head), f"{each.value:.4f}") for each in baseline.heads
    )
    columns = (Column("Layer", share=1), Column("Head", "right"), Column("Mean |Δ|", "decimal"))
    title = head_name(first.layer, first.head)
    words: list[str | See] = [
        f"Over the tokens that both runs have, the attention of {title} changed most, by "
        f"{first.value:.4f} on average ("
    ]
    words += [See(_HEAD), "; ", See(_HEADS), ")."] if len(rows) > 1 else [See(_HEAD), ")."]
    row, column, value = _largest(difference)
    query, key = difference.rows[row], difference.columns[column]
    blocks: list[Block] = [Paragraph.of(*words)]
    if len(rows) > 1:
        caption = "The heads whose attention changed most."
        blocks.append(Table(columns, rows, _HEADS, (caption,)))
    blocks.append(
        pictures.figure(
            "runs-head",
            Picture(replace(difference, is_root=False), *_SIZE),
            with_minus(
                f"Attention of each query (row) to each key (column) in {title}, B − A. It changes "
                f"most from “{query}” to “{key}” ({value:+.2f})."
            ),
            f"The attention map of {title}, B − A.",
            0.6,
        )
    )
    return Section("runs-attention", "Attention of A and B", tuple(blocks))


def _largest(difference: GridChart) -> tuple[int, int, float]:
    """Return the row, the column and the value of the largest difference; 0 if none is known."""
    values = np.asarray(difference.values, dtype=np.float64)
    known = np.where(np.isnan(values), 0.0, values)
    row, column = divmod(int(np.abs(known).argmax()), known.shape[1])
    return row, column, float(known[row, column])


def _predictions(subject: Subject, both: _RunPair) -> Section | None:
    blocks = (*_scores(subject, both), *_candidates(subject, both))
    return Section("runs-predictions", "Predictions of A and B", blocks) if blocks else None


def _scores(subject: Subject, both: _RunPair) -> Iterator[Block]:
    """Yield the class scores of both runs, if their heads have the same classes."""
    b, a = (classification(run, subject.architecture) for run in (both.b, both.a))
    if b is not None and a is not None and (b.of, b.labels) == (a.of, a.labels):
        line_a, line_b = best_line(both.a, a), best_line(both.b, b)
        verdict = (
            f"The prediction is the same in both runs: {line_b}"
            if line_a == line_b
            else f"The prediction in A is {line_a}; in B, {line_b}"
        )
        verdict = verdict if line_a else f"The head scores the {b.of} of both runs"
        yield Paragraph.of(f"{verdict} (", See(_CLASSES), ").")
        table = scores_table(both.b, b, a, {in_b: in_a for in_a, in_b in both.pairs})
        caption = ("Scores of the model’s head in A and B.",)
        yield table_of(table, _CLASSES, caption, MAX_CLASSES)


def _candidates(subject: Subject, both: _RunPair) -> Iterator[Block]:
    """Yield the most likely tokens in both runs."""
    baseline = subject.details.baseline
    for of_b in subject.details.predictions:
        position = of_b.position
        of_a = None if baseline is None else baseline.predictions.get(position)
        if of_a is None:
            continue
        name = f"table:runs-predicted-{position}"
        where = quoted_token(both.b, position)
        yield Paragraph.of(f"{_prediction(where, of_a.guess, of_b.guess)} (", See(name), ").")
        table = candidates_table(both.b, of_b, of_a, is_compared=True)
        yield table_of(table, name, (f"Most likely tokens at {where} in B and in A.",))


def _prediction(where: str, a: Guess, b: Guess) -> str:
    """Return how the most likely token at a position changes from A to B."""
    if not a.top or not b.top:
        return f"At {where}, the scores of one run are not finite"
    one, other = (isolated(visible(each.top[0].text)) for each in (a, b))
    before, after = (likelihood(each.top[0].probability) for each in (a, b))
    if one == other:
        return f"At {where}, both runs predict “{one}”, A with {before} and B with {after}"
    return f"At {where}, the prediction changes from “{one}” ({before}) to “{other}” ({after})"
