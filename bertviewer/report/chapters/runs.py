"""Chapter that compares two runs: B, the run of the report, with A, the baseline."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.attention import RunAttention, attention_pair, head_chart
from bertviewer.charts.classification import scores_table
from bertviewer.charts.comparison import grid_difference, line_overlay, shared_levels
from bertviewer.charts.labels import MAX_TOKEN, names_of_states, shortened, visible
from bertviewer.charts.layers import layer_chart
from bertviewer.charts.predictions import candidates_table
from bertviewer.charts.token_charts import norms_chart, similarity_chart
from bertviewer.core.analysis.predictions import classification
from bertviewer.core.analysis.similarity import token_pair_path
from bertviewer.core.analysis.tokens import align
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.statistics import STATISTIC_NAMES, statistic_value
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import Block, Column, Paragraph, Row, Section, See, Strong, Table
from bertviewer.report.chapters.predictions import MAX_CLASSES
from bertviewer.report.chapters.sentence import STATISTIC_PHRASES, STATISTIC_TITLES, run_text
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.run_details import BaselineDetails
from bertviewer.report.subject import Subject
from bertviewer.report.tables import cosine_text, exact, layer_table, table_of

_LAYERS, _HEAD = "figure:runs-layers", "figure:runs-head"
_NORMS_A, _NORMS_B = "figure:runs-norms-a", "figure:runs-norms-b"
_NORMS, _COSINES = "figure:runs-norms", "figure:runs-cosines"
_RUNS, _OTHERS, _OUTPUT = "table:runs", "table:runs-others", "table:runs-output"
_SAME, _HEADS, _CLASSES = "table:runs-same", "table:runs-heads", "table:runs-classes"
_SIDES = ("A", "B", "B − A")
_SIDE, _HEAD_SIDE = 560, 620
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
    blocks: list[Block] = []
    if of_b.lines and of_a.lines:
        blocks += [
            Paragraph.of(
                See(_LAYERS),
                " and ",
                See(_RUNS),
                f" show the {phrase} of each layer’s output in both runs; ",
                See(_OTHERS),
                " gives the difference B − A of every statistic.",
            ),
            pictures.figure(
                "runs-layers",
                line_overlay(of_b, of_a),
                f"The {phrase} of each layer’s output; A is dashed.",
                f"Lines over the layers: the {phrase} of each layer’s output in A and in B.",
            ),
            _both_table(_series(subject, both, statistic), statistic),
            _difference_table(subject, both),
        ]
    blocks.append(_output_table(both))
    return Section("runs-statistics", "Statistics of A and B", tuple(blocks))


def _series(subject: Subject, both: _RunPair, statistic: str) -> Series:
    b, a = (layer_chart(subject.architecture, run, statistic).lines for run in (both.b, both.a))
    for of_b, of_a in zip(b, a, strict=False):
        yield of_b.label if len(b) > 1 else "", of_a.values, of_b.values


def _both_table(series: Series, statistic: str) -> Table:
    stacks = (
        (label, ((a, b, _difference(b, a)) for a, b in zip(of_a, of_b, strict=False)))
        for label, of_a, of_b in series
    )
    caption = f"The {STATISTIC_PHRASES[statistic]} of each layer’s output in both runs."
    return layer_table(stacks, _SIDES, _RUNS, caption)


def _difference_table(subject: Subject, both: _RunPair) -> Table:
    every = (_series(subject, both, name) for name in STATISTIC_TITLES)
    stacks = (
        (found[0][0], zip(*(map(_difference, of_b, of_a) for _, of_a, of_b in found), strict=True))
        for found in zip(*every, strict=True)
    )
    caption = "The difference B − A of every statistic of a layer’s output."
    return layer_table(stacks, STATISTIC_TITLES.values(), _OTHERS, caption)


def _output_table(both: _RunPair) -> Table:
    rows = []
    for name in STATISTIC_NAMES:
        a, b = (statistic_value(run.modules[0].statistics, name) for run in (both.a, both.b))
        rows.append(Row.of(STATISTIC_TITLES[name], *map(exact, (a, b, _difference(b, a)))))
    columns = (
        Column("Output of the model", share=1),
        *(Column(title, "decimal") for title in _SIDES),
    )
    return Table(columns, tuple(rows), _OUTPUT, ("The model’s output in both runs.",))


def _difference(b: Value, a: Value) -> Value:
    return None if b is None or a is None else b - a


def _norms(both: _RunPair, pictures: Pictures) -> Section | None:
    if not both.a.token_norms or not both.b.token_norms:
        return None
    of_b, of_a = norms_chart(both.b), norms_chart(both.a)
    level_b, level_a = shared_levels(of_b, of_a)
    alt = "A heat map of hidden states by tokens, coloured by norm."
    blocks: list[Block] = [
        Paragraph.of(
            See(_NORMS_A),
            " and ",
            See(_NORMS_B),
            " show the Euclidean norm of each token’s vector on the same colour scale",
            *(("; ", See(_NORMS), " shows the difference B − A") if both.pairs else ()),
            ".",
        ),
        pictures.figure("runs-norms-a", level_a, "The norm of each token’s vector in A.", alt),
        pictures.figure("runs-norms-b", level_b, "The norm of each token’s vector in B.", alt),
    ]
    if both.pairs:
        difference = grid_difference(of_b, of_a, both.pairs)
        caption = "The norms in B minus those in A; tokens without a partner in A are left blank."
        blocks.append(pictures.figure("runs-norms", difference, caption, alt))
    return Section("runs-norms", "Token norms of A and B", tuple(blocks))


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
    b, a = similarity_chart(both.b, last), similarity_chart(both.a, last)
    blocks = (
        Paragraph.of(
            See(_SAME),
            " gives the cosine between the vectors of the same token in the two runs: 1 means "
            "that the context makes no difference. ",
            See(_COSINES),
            f" shows the difference B − A of the cosine of each pair of tokens in {names[last]}.",
        ),
        Table(
            columns, rows, _SAME, ("The cosine between the vectors of the same token in A and B.",)
        ),
        pictures.figure(
            "runs-cosines",
            Picture(grid_difference(b, a, both.pairs, both.pairs), _SIDE, _SIDE),
            f"The cosine of each pair of tokens in {names[last]}, B − A.",
            "A heat map of tokens by tokens, coloured by the difference of the cosines.",
            0.75,
        ),
    )
    return Section("runs-similarity", "Similarity of A and B", blocks)


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
        Row.of(each.layer.name, str(each.head), f"{each.value:.6f}") for each in baseline.heads
    )
    columns = (Column("Layer", share=1), Column("Head", "right"), Column("Mean |Δ|", "decimal"))
    title = f"Head {first.head} of {first.layer.name}"
    blocks = (
        Paragraph.of(
            See(_HEADS),
            " lists the heads whose attention changed most, over the tokens common to both runs; ",
            See(_HEAD),
            " shows the first of them.",
        ),
        Table(columns, rows, _HEADS, ("The heads whose attention changed most.",)),
        pictures.figure(
            "runs-head",
            Picture(replace(difference, is_root=False), _HEAD_SIDE, _HEAD_SIDE),
            f"{title}: difference B − A of the attention of each query (row) to each key (column).",
            f"The attention map of {title[:1].lower()}{title[1:]}, B − A.",
            0.8,
        ),
    )
    return Section("runs-attention", "Attention of A and B", blocks)


def _predictions(subject: Subject, both: _RunPair) -> Section | None:
    blocks = (*_scores(subject, both), *_candidates(subject, both))
    return Section("runs-predictions", "Predictions of A and B", blocks) if blocks else None


def _scores(subject: Subject, both: _RunPair) -> Iterator[Block]:
    """Yield the class scores of both runs, if their heads have the same classes."""
    b, a = (classification(run, subject.architecture) for run in (both.b, both.a))
    if b is not None and a is not None and (b.of, b.labels) == (a.of, a.labels):
        yield Paragraph.of(See(_CLASSES), f" gives the head’s scores for the {b.of} in both runs.")
        table = scores_table(both.b, b, a, {in_b: in_a for in_a, in_b in both.pairs})
        caption = ("The scores of the model’s head in A and B.",)
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
        where = f"token {position} ({visible(both.b.tokens[position].text)})"
        yield Paragraph.of(See(name), f" lists the most likely tokens at {where} in both runs.")
        table = candidates_table(both.b, of_b, of_a, is_compared=True)
        yield table_of(table, name, (f"Predictions at {where} in A and B.",))
