"""What the heads look at: all heads by one figure each, and the maps of chosen layers and heads."""

from bertviewer.charts.attention import (
    RunAttention,
    head_chart,
    head_measures_chart,
    heads_chart,
    measure_names,
)
from bertviewer.core.analysis.attention_maps import Measure, RankedHead, ranked_heads
from bertviewer.core.util.numbers import count_text
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
from bertviewer.report.pictures import Drafted, Picture, Pictures
from bertviewer.report.subject import Subject

_HEADS, _ENTROPY = "table:heads", "figure:entropy"
_SIDE = 620
_ABREAST = 6
"""Heads side by side: two layers of 12 fit on one page."""


def attention(subject: Subject) -> Drafted | None:
    """Return the chapter; ``None`` where no attention was looked at."""
    run, seen = subject.run, subject.looks.heads
    if run is None or seen is None:
        return None
    pictures = Pictures()
    figures, layers = seen.figures, tuple(seen.figures)
    chart = head_measures_chart(layers, figures, "entropy")
    rows = [
        _row(measure, name, best[0])
        for measure, name in measure_names(run).items()
        if (best := ranked_heads(figures, measure))
    ]
    heads = sum(max(map(len, each.values()), default=0) for each in figures.values())
    blocks: list[Block] = [
        Paragraph.of(
            count_text(
                len(layers),
                "This chapter covers one attention module with {1}. ",
                "This chapter covers {0} attention modules with {1} in total. ",
                count_text(heads, "1 head", "{0} heads"),
            ),
            "Each row of a head’s map contains the weights with which one token attends to all "
            "tokens; they sum to 1. ",
            See(_ENTROPY),
            " shows how evenly each head attends: the entropy is 0 where every token attends to "
            "a single token. ",
            See(_HEADS),
            " names, for each measure, the head with the largest value.",
        ),
        pictures.figure(
            "entropy",
            Picture(chart, height=min(720, 90 + 22 * len(layers))),
            "The entropy of every head in nats, averaged over all tokens.",
            "A heat map of layers by heads, coloured by entropy.",
        ),
        Table(
            (
                Column("Measure", share=1),
                Column("Layer", share=1),
                Column("Head", "right"),
                Column("Value", "decimal"),
            ),
            tuple(rows),
            _HEADS,
            ("The head with the largest value of each measure.",),
        ),
    ]
    blocks += [_layer(RunAttention(run, seen.maps[layer], layer), pictures) for layer in seen.shown]
    if seen.large is not None:
        maps = seen.maps[seen.large.layer]
        blocks.append(_large(RunAttention(run, maps, seen.large.layer), seen.large.head, pictures))
    blocks += answers(subject, "attention", maps=seen.maps[layers[0]])
    hidden = mask(subject)
    sections = () if hidden is None else (hidden,)
    return Drafted(Section("attention", "Attention", tuple(blocks), sections), pictures)


def _row(measure: Measure, name: str, best: RankedHead) -> Row:
    unit = {"entropy": " nats", "distance": " tokens"}.get(measure, "")
    said = name if unit else f"attention to the {name}" if " " in name else f"attention to {name}"
    said = f"{said[:1].upper()}{said[1:]}"
    return Row.of(said, best.layer.name, str(best.head), f"{best.value:.4f}{unit}")


def _layer(attended: RunAttention, pictures: Pictures) -> Figure:
    layer, chart = attended.layer, heads_chart(attended)
    rows = -(-len(chart.captions) // _ABREAST)
    return pictures.figure(
        f"heads-{layer.path}-{layer.call}",
        Picture(chart, height=24 + 128 * rows),
        f"All heads of {layer.name}: rows are queries, columns are keys. H is the entropy in "
        "nats, d the mean attention distance in tokens.",
        f"The attention maps of all heads of {layer.name}.",
    )


def _large(attended: RunAttention, head: int, pictures: Pictures) -> Figure:
    name = attended.layer.name
    return pictures.figure(
        "head",
        Picture(head_chart(attended, head), _SIDE, _SIDE),
        f"Head {head} of {name}: attention of each query (row) to each key (column).",
        f"The attention map of head {head} of {name}.",
        0.8,
    )
