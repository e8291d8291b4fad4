"""Two corpora side by side, as tables: of each figure the left one's and the right one's."""

from collections.abc import Iterator, Sequence

from bertviewer.charts.figures import Figure, FigureColumn, FigureTable, number, words
from bertviewer.charts.place import Place
from bertviewer.charts.translation import translate
from bertviewer.core.corpus.comparison import ComparedModule, CorpusComparison
from bertviewer.core.corpus.corpus import CallKey, ClassSums

_DIGITS = 4
_ENDS = (0.01, 0.99)


def modules_table(comparison: CorpusComparison) -> FigureTable:
    """Return the modules that both have, those whose histograms are farthest apart first."""
    distance = translate("charts", "Distance")
    name = translate("charts", "Jensen–Shannon distance of the histograms, from 0 to 1")
    pairs = (translate("charts", "Mean"), translate("charts", "Std"), "1%", "99%")
    columns = (
        FigureColumn(translate("charts", "Module")),
        FigureColumn(distance, "bar", name),
        *_both(pairs),
    )
    # What hands on another's tensor has the same figures.
    own = [one for one in comparison.modules if one.key in comparison.left.features]
    rows = tuple(
        (
            words(_name(one.key)),
            Figure(one.distance, f"{one.distance:.4f}", one.distance),
            *_pairs_of(one),
        )
        for one in own
    )
    return FigureTable(columns, rows, tuple(Place(one.key[0]) for one in own))


def heads_table(comparison: CorpusComparison) -> FigureTable:
    """Return the heads that both have, those whose entropy differs most first."""
    pairs = (
        translate("charts", "Entropy"),
        translate("charts", "Distance"),
        translate("charts", "Start"),
        translate("charts", "Separators"),
    )
    columns = (
        FigureColumn(translate("charts", "Attention")),
        FigureColumn(translate("charts", "Head"), "number"),
        *_both(pairs),
    )
    heads = sorted(comparison.heads, key=lambda head: -head.change)
    rows = tuple(
        (
            words(_name(head.key)),
            number(head.head),
            *(
                number(value, _DIGITS)
                for pair in zip(head.left, head.right, strict=True)
                for value in pair
            ),
        )
        for head in heads
    )
    return FigureTable(columns, rows, tuple(Place(head.key[0], head=head.head) for head in heads))


def features_table(comparison: CorpusComparison) -> FigureTable:
    """Return outlier features of either, with the share of the sentences in which they are so."""
    columns = (
        FigureColumn(translate("charts", "Feature"), "number"),
        FigureColumn(translate("charts", "Sentences, left"), "bar"),
        FigureColumn(translate("charts", "Sentences, right"), "bar"),
    )
    rows = tuple(
        (
            number(one.index),
            *(Figure(share, f"{share:.1%}", share) for share in (one.left, one.right)),
        )
        for one in comparison.features
    )
    return FigureTable(
        columns, rows, tuple(Place(feature=one.index) for one in comparison.features)
    )


def _both(titles: Sequence[str]) -> Iterator[FigureColumn]:
    left, right = translate("charts", "{0}, left"), translate("charts", "{0}, right")
    for title in titles:
        yield FigureColumn(title, "number", left.format(title))
        yield FigureColumn("→", "number", right.format(title))


def _pairs_of(module: ComparedModule) -> Iterator[Figure]:
    sides = module.left, module.right
    for values in zip(*map(_figures, sides), strict=True):
        yield from (number(value, _DIGITS) for value in values)


def _figures(row: ClassSums) -> tuple[float | None, ...]:
    statistics = row.statistics
    return statistics.mean, statistics.std, *(row.quantiles(_ENDS) or (None, None))


def _name(call: CallKey) -> str:
    path, number_of_call = call
    return f"{path or '(model)'}{f' (call {number_of_call})' if number_of_call else ''}"
