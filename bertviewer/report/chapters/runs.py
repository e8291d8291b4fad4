"""Two runs side by side: B, which the report is about, and A, which was kept before it."""

from collections.abc import Iterable, Sequence

from bertviewer.charts.comparison import overlaid
from bertviewer.charts.layers import layer_chart
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.statistics import STATISTIC_NAMES, figure
from bertviewer.core.analysis.alignment import align
from bertviewer.core.text.numerals import count_text
from bertviewer.report.blocks import (
    Block,
    Break,
    Code,
    Column,
    Figure,
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
from bertviewer.report.chapters.sentence import STATISTIC_TITLES
from bertviewer.report.pictures import Drafted, Picture
from bertviewer.report.subject import Subject
from bertviewer.report.summaries import exact

_LAYERS, _NORMS_A, _NORMS_B = "figure:runs-layers", "figure:runs-norms-a", "figure:runs-norms-b"
_NORMS, _COSINES = "figure:runs-norms", "figure:runs-cosines"
_RUNS, _OTHERS, _OUTPUT = "table:runs", "table:runs-others", "table:runs-output"
_SAME = "table:runs-same"
_SIDE, _GRID = 560, 270
MOST_TOKENS = 40
"""Tokens whose vectors are compared in a table."""

Value = float | None
Series = Iterable[tuple[str, Sequence[Value], Sequence[Value]]]
"""The figures of layers in A and in B, stack by stack, each with its label."""


def runs(subject: Subject) -> Drafted | None:
    """Return the chapter on run B beside run A; ``None`` where no run is kept as A."""
    b, a = subject.run, subject.other
    if b is None or a is None:
        return None
    two = BothRuns(a, b, align(a.tokens, b.tokens))
    pictures: dict[str, Picture] = {}
    sections = (
        _statistics(subject, two, pictures),
        norms(two, pictures),
        similarity(two, pictures),
        heads(subject, pictures),
        predictions(subject),
    )
    blocks: tuple[Block, ...] = (
        Paragraph((Strong("A"), " ", *_said(a)), "quote"),
        Paragraph((Strong("B"), " ", *_said(b)), "quote"),
        Paragraph(
            (
                count_text(
                    len(two.pairs),
                    "One of B's {1} tokens has a partner of the same id and order among A's {2}",
                    "{0} of B's {1} tokens have a partner of the same id and order among A's {2}",
                    len(b.tokens),
                    len(a.tokens),
                ),
                "; where tokens are compared, these are.",
            )
        ),
    )
    found = tuple(section for section in sections if section is not None)
    return Drafted(Section("runs", "Two runs", blocks, found), pictures)


def _said(run: ActivationRun) -> tuple[str | Break, ...]:
    pair = run.sentence.pair
    return (run.sentence.text,) if pair is None else (run.sentence.text, Break(), pair)


def _statistics(subject: Subject, two: BothRuns, pictures: dict[str, Picture]) -> Section:
    statistic, architecture = subject.statistic, subject.architecture
    of_b, of_a = (layer_chart(architecture, run, statistic) for run in (two.b, two.a))
    blocks: list[Block] = []
    if of_b.lines and of_a.lines:
        pictures["runs-layers"] = Picture(overlaid(of_b, of_a))
        words = (
            See(_LAYERS),
            " and ",
            See(_RUNS),
            f" have the {statistic} of each layer's output in both runs, ",
            See(_OTHERS),
            " how much larger each statistic is in B.",
        )
        drawn = Figure(
            "runs-layers",
            _LAYERS,
            (f"The {statistic} of the output of each layer; A is dashed.",),
            f"Lines over the layers: the {statistic} of each one's output in A and in B.",
        )
        blocks += [
            Paragraph(words),
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
    rows: list[Row] = []
    for label, of_a, of_b in series:
        rows += [Row(((Code(label),),), "head")] if label else []
        for layer, (left, right) in enumerate(zip(of_a, of_b, strict=False)):
            figures = (left, right, _less(right, left))
            rows.append(Row(((str(layer),), *((exact(value),) for value in figures))))
    titles = ("A", "B", "B − A")
    columns = (Column("Layer", "right"), *(Column(title, "decimal", 1) for title in titles))
    return Table(columns, tuple(rows), _RUNS, (f"The {statistic} of both runs.",))


def _differences(subject: Subject, two: BothRuns) -> Table:
    every = {name: tuple(_series(subject, two, name)) for name in STATISTIC_NAMES}
    rows: list[Row] = []
    for stack, (label, *_) in enumerate(every["mean"]):
        rows += [Row(((Code(label),),), "head")] if label else []
        count = min(map(len, every["mean"][stack][1:]))
        for layer in range(count):
            cells = (
                exact(_less(of_b[layer], of_a[layer]))
                for _, of_a, of_b in (found[stack] for found in every.values())
            )
            rows.append(Row(((str(layer),), *((cell,) for cell in cells))))
    titles = (STATISTIC_TITLES[name] for name in STATISTIC_NAMES)
    columns = (Column("Layer", "right"), *(Column(title, "decimal", 1) for title in titles))
    caption = ("How much larger each statistic of a layer's output is in B: B − A.",)
    return Table(columns, tuple(rows), _OTHERS, caption)


def _outputs(two: BothRuns) -> Table:
    rows = []
    for name in STATISTIC_NAMES:
        left, right = (figure(run.modules[0].statistics, name) for run in (two.a, two.b))
        figures = (left, right, _less(right, left))
        rows.append(Row(((STATISTIC_TITLES[name],), *((exact(value),) for value in figures))))
    columns = (
        Column("Output of the model", share=1),
        *(Column(title, "decimal") for title in ("A", "B", "B − A")),
    )
    return Table(columns, tuple(rows), _OUTPUT, ("The model's output in both runs.",))


def _less(one: Value, other: Value) -> Value:
    return None if one is None or other is None else one - other
