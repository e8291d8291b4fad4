"""The heads that look elsewhere in B than in A."""

from msgspec.structs import replace

from bertviewer.charts.attention import RunAttention, attention_pair, head_chart
from bertviewer.charts.comparison import grid_difference
from bertviewer.report.blocks import Block, Column, Paragraph, Row, Section, See, Table
from bertviewer.report.pictures import Picture, Pictures
from bertviewer.report.subject import Subject

_HEADS, _HEAD = "table:runs-heads", "figure:runs-head"
_SIDE = 620


def heads(subject: Subject, pictures: Pictures) -> Section | None:
    """Return the section; ``None`` where no head was looked at in both runs, or none changed."""
    run, beside = subject.run, subject.looks.beside
    if run is None or beside is None or beside.maps is None:
        return None
    first = beside.heads[0]
    of_b, of_a = beside.maps
    pair = attention_pair(
        RunAttention(run, of_b, first.layer), RunAttention(beside.run, of_a, first.layer)
    )
    b, a = pair.charts(lambda attended: head_chart(attended, first.head))
    assert a is not None
    found = grid_difference(b, a, pair.partners.columns, pair.partners.rows)
    rows = tuple(Row.of(one.layer.name, str(one.head), f"{one.value:.6f}") for one in beside.heads)
    columns = (Column("Layer", share=1), Column("Head", "right"), Column("Mean |Δ|", "decimal"))
    title = f"Head {first.head} of {first.layer.name}"
    blocks: tuple[Block, ...] = (
        Paragraph.of(
            *(
                See(_HEADS),
                " lists the heads whose attention changed most, over the tokens ",
            ),
            *("common to both runs; ", See(_HEAD), " shows the first of them."),
        ),
        Table(columns, rows, _HEADS, ("The heads whose attention changed most.",)),
        pictures.figure(
            "runs-head",
            Picture(replace(found, is_root=False), _SIDE, _SIDE),
            f"{title}: difference B − A of the attention of each query (row) to each key (column).",
            f"The attention map of {title[:1].lower()}{title[1:]}, B − A.",
            0.8,
        ),
    )
    return Section("runs-attention", "Attention of A and B", blocks)
