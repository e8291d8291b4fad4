"""What the heads look at: all heads by one figure each, and the maps of chosen layers and heads."""

from collections.abc import Iterator, Sequence

from bertviewer.charts.attentions import (
    Attended,
    figures_chart,
    head_chart,
    heads_chart,
    measure_names,
)
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.head_figures import Measure, RankedHead, head_figures, ranked
from bertviewer.core.text.numerals import count_text
from bertviewer.report.answers import answers
from bertviewer.report.blocks import (
    Block,
    Column,
    Figure,
    Paragraph,
    Row,
    Section,
    See,
    Table,
)
from bertviewer.report.chapters.mask import mask
from bertviewer.report.pictures import Drafted, Picture
from bertviewer.report.subject import Subject

_HEADS, _ENTROPY, _LARGE = "table:heads", "figure:entropy", "figure:head"
_WIDTH, _SIDE = 680, 620
_ABREAST = 6
"""Heads side by side: two layers of 12 fit on one page."""
_FEW = 2
"""Layers whose heads are shown where none were chosen: the first and the last."""


def attention(subject: Subject) -> Drafted | None:
    """Return the chapter; ``None`` where no attention was looked at."""
    run, maps = subject.run, subject.looks.attentions
    if run is None or not maps:
        return None
    pictures: dict[str, Picture] = {}
    layers = tuple(maps)
    figures = {layer: head_figures(found, run) for layer, found in maps.items()}
    pictures["entropy"] = Picture(figures_chart(layers, figures, "entropy"), height=_height(layers))
    names = measure_names(run)
    rows = []
    for measure, name in names.items():
        best = ranked(figures, measure)
        if best:
            rows.append(_row(measure, name, best[0].layer, best[0].head, best[0].value))
    heads = sum(len(found.probabilities) for found in maps.values())
    blocks: list[Block] = [
        Paragraph(
            (
                count_text(
                    len(layers),
                    "One attention was looked at, with {1} heads. ",
                    "{0} attentions were looked at, with {1} heads together. ",
                    heads,
                ),
                "Each row of a head's map is what one token takes from all: it sums to 1. ",
                See(_ENTROPY),
                " says how evenly each head looks: 0 where every token looks at one token alone. ",
                See(_HEADS),
                " names the head that goes farthest by each figure.",
            )
        ),
        Figure(
            "entropy",
            _ENTROPY,
            ("The entropy of every head, in nats, the mean over all tokens.",),
            "A grid of layers by heads, coloured by the entropy.",
        ),
        Table(
            (
                Column("Largest", share=1),
                Column("Layer", share=1),
                Column("Head", "right"),
                Column("Value", "decimal"),
            ),
            tuple(rows),
            _HEADS,
            ("The head with the largest value of each figure.",),
        ),
    ]
    for layer in _chosen(layers, subject.layers):
        blocks += _layer(layer, subject, pictures)
    blocks += _large(ranked(figures, "previous") or ranked(figures, "entropy"), subject, pictures)
    blocks += answers(subject, "attention", maps=maps[layers[0]])
    hidden = mask(subject)
    sections = () if hidden is None else (hidden,)
    return Drafted(Section("attention", "Attention", tuple(blocks), sections), pictures)


def _row(measure: Measure, name: str, layer: AttentionLayer, head: int, value: float) -> Row:
    unit = {"entropy": " nats", "distance": " tokens"}.get(measure, "")
    said = name if unit else f"share at the {name}" if " " in name else f"share at {name}"
    return Row(((said,), (layer.name,), (str(head),), (f"{value:.4f}{unit}",)))


def _height(layers: Sequence[AttentionLayer]) -> int:
    return min(720, 90 + 22 * len(layers))


def _chosen(
    layers: Sequence[AttentionLayer], wanted: tuple[int, ...] | None
) -> tuple[AttentionLayer, ...]:
    if wanted is not None:
        return tuple(layer for layer in layers if layer.number in wanted)
    return tuple(dict.fromkeys((layers[0], layers[-1])))[:_FEW]


def _layer(
    layer: AttentionLayer, subject: Subject, pictures: dict[str, Picture]
) -> Iterator[Block]:
    assert subject.run is not None
    attended = Attended(subject.run, subject.looks.attentions[layer], layer)
    chart = heads_chart(attended)
    key = f"heads-{layer.path}-{layer.call}"
    rows = -(-len(chart.captions) // _ABREAST)
    pictures[key] = Picture(chart, _WIDTH, 24 + 128 * rows)
    yield Figure(
        key,
        f"figure:{key}",
        (
            f"All heads of {layer.name}: rows ask, columns are looked at. H is the entropy in "
            "nats, d the mean distance in tokens.",
        ),
        f"The attention maps of all heads of {layer.name}.",
    )


def _large(
    best: Sequence[RankedHead], subject: Subject, pictures: dict[str, Picture]
) -> Iterator[Block]:
    if not best or subject.run is None:
        return
    first = best[0]
    attended = Attended(subject.run, subject.looks.attentions[first.layer], first.layer)
    pictures["head"] = Picture(head_chart(attended, first.head), _SIDE, _SIDE)
    yield Figure(
        "head",
        _LARGE,
        (f"Head {first.head} of {first.layer.name}: what each token takes from each.",),
        f"The attention map of head {first.head} of {first.layer.name}.",
        0.8,
    )
