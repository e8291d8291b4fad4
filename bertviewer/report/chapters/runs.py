"""Two runs side by side: B, which the report is about, and A, which was kept before it."""

from collections.abc import Iterable, Sequence

from bertviewer.charts.comparison import line_overlay
from bertviewer.charts.layers import layer_chart
from bertviewer.core.analysis.tokens import align
from bertviewer.core.schema.statistics import STATISTIC_NAMES, statistic_value
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import (
    Block,
    Column,
    Paragraph,
    Row,
    Section,
    See,
    Strong,
    Table,
)
from bertviewer.report.chapters.runs_heads import heads
from bertviewer.report.chapters.runs_predictions import predictions
from bertviewer.report.chapters.runs_tokens import BothRuns, norms, similarity
from bertviewer.report.chapters.sentence import STATISTIC_TITLES, STATISTIC_WORDS, said
from bertviewer.report.numbers import exact
from bertviewer.report.pictures import Drafted, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.tables import layer_table

_LAYERS = "figure:runs-layers"
_RUNS, _OTHERS, _OUTPUT = "table:runs", "table:runs-others", "table:runs-output"
_SIDES = ("A", "B", "B − A")

Value = float | None
Series = Iterable[tuple[str, Sequence[Value], Sequence[Value]]]
"""The figures of layers in A and in B, stack by stack, each with its label."""


def runs(subject: Subject) -> Drafted | None:
    """Return the chapter on run B beside run A; ``None`` where no run is kept as A."""
    b, a = subject.run, subject.other
    if b is None or a is None:
        return None
    two = BothRuns(a, b, align(a.tokens, b.tokens))
    pictures = Pictures()
    sections = (
        _statistics(subject, two, pictures),
        norms(two, pictures),
        similarity(two, pictures),
        heads(subject, pictures),
        predictions(subject),
    )
    blocks: tuple[Block, ...] = (
        Paragraph.of(Strong("A"), " ", *said(a), look="quote"),
        Paragraph.of(Strong("B"), " ", *said(b), look="quote"),
        Paragraph.of(
            count_text(
                len(two.pairs),
                "One of B’s {1} tokens was aligned with A’s {2} by id and order",
                "{0} of B’s {1} tokens were aligned with A’s {2} by id and order",
                len(b.tokens),
                len(a.tokens),
            ),
            "; token-wise comparisons use these pairs.",
        ),
    )
    found = tuple(filter(None, sections))
    return Drafted(Section("runs", "Comparison of two runs", blocks, found), pictures)


def _statistics(subject: Subject, two: BothRuns, pictures: Pictures) -> Section:
    statistic, architecture = subject.statistic, subject.architecture
    of_b, of_a = (layer_chart(architecture, run, statistic) for run in (two.b, two.a))
    words = STATISTIC_WORDS[statistic]
    blocks: list[Block] = []
    if of_b.lines and of_a.lines:
        intro = Paragraph.of(
            See(_LAYERS),
            " and ",
            See(_RUNS),
            f" show the {words} of each layer’s output in both runs; ",
            See(_OTHERS),
            " gives the difference B − A of every statistic.",
        )
        drawn = pictures.figure(
            "runs-layers",
            line_overlay(of_b, of_a),
            f"The {words} of each layer’s output; A is dashed.",
            f"Lines over the layers: the {words} of each layer’s output in A and in B.",
        )
        blocks += [
            intro,
            drawn,
            _both(_series(subject, two, statistic), statistic),
            _differences(subject, two),
        ]
    blocks.append(_outputs(two))
    return Section("runs-statistics", "Statistics of A and B", tuple(blocks))


def _series(subject: Subject, two: BothRuns, statistic: str) -> Series:
    """Yield the layers' figures in A and in B, stack by stack."""
    b, a = (layer_chart(subject.architecture, run, statistic).lines for run in (two.b, two.a))
    for mine, other in zip(b, a, strict=False):
        yield mine.label if len(b) > 1 else "", other.values, mine.values


def _both(series: Series, statistic: str) -> Table:
    stacks = (
        (label, ((a, b, _less(b, a)) for a, b in zip(of_a, of_b, strict=False)))
        for label, of_a, of_b in series
    )
    return layer_table(
        stacks,
        _SIDES,
        _RUNS,
        f"The {STATISTIC_WORDS[statistic]} of each layer’s output in both runs.",
    )


def _differences(subject: Subject, two: BothRuns) -> Table:
    every = (_series(subject, two, name) for name in STATISTIC_TITLES)
    stacks = (
        (found[0][0], zip(*(map(_less, of_b, of_a) for _, of_a, of_b in found), strict=True))
        for found in zip(*every, strict=True)
    )
    caption = "The difference B − A of every statistic of a layer’s output."
    return layer_table(stacks, STATISTIC_TITLES.values(), _OTHERS, caption)


def _outputs(two: BothRuns) -> Table:
    rows = []
    for name in STATISTIC_NAMES:
        left, right = (statistic_value(run.modules[0].statistics, name) for run in (two.a, two.b))
        figures = (left, right, _less(right, left))
        rows.append(Row.of(STATISTIC_TITLES[name], *(exact(value) for value in figures)))
    columns = (
        Column("Output of the model", share=1),
        *(Column(title, "decimal") for title in _SIDES),
    )
    return Table(columns, tuple(rows), _OUTPUT, ("The model’s output in both runs.",))


def _less(one: Value, other: Value) -> Value:
    return None if one is None or other is None else one - other
