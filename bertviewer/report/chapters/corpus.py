"""Chapter on a corpus: quantiles by layer, values, heads and outlier features."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bertviewer.charts.attention import head_measures_chart
from bertviewer.charts.corpus import (
    corpus_heads,
    corpus_histogram,
    corpus_state_names,
    quantile_chart,
)
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import HeadMeasures, Measure, ranked_heads
from bertviewer.core.corpus.corpus import (
    FEW_SENTENCES,
    QUANTILE_DIGITS,
    QUANTILES,
    Corpus,
    OutlierRow,
    outlier_rows,
)
from bertviewer.core.util.numbers import count_text, with_minus
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    Paragraph,
    Row,
    Section,
    See,
    Table,
)
from bertviewer.report.chapters.sentence import outlier_rule
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.tables import exact, layer_table

MAX_FEATURES = 12
_LAYERS, _VALUES, _ENTROPY = "figure:corpus-layers", "figure:corpus-values", "figure:corpus-entropy"
_QUANTILES, _HEADS, _OUTLIERS = "table:corpus-layers", "table:corpus-heads", "table:corpus-outliers"
_MEASURES: Mapping[Measure, str] = {
    "entropy": "Entropy (nats)",
    "distance": "Distance (tokens)",
    "cls": "Attention to the start token",
    "sep": "Attention to separators",
}


def corpus(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` without a corpus."""
    found = subject.corpus
    if found is None:
        return None
    pictures = Pictures()
    sections = (
        _layers(subject, found, pictures),
        _values(found, pictures),
        _heads(subject, found, pictures),
        _outliers(found),
    )
    shown = tuple(filter(None, sections))
    chapter = Section("corpus", "Corpus statistics", tuple(_data(found)), shown)
    return ChapterDraft(chapter, pictures)


def _data(found: Corpus) -> Iterator[Block]:
    manifest = found.manifest
    sentences = count_text(found.sentences, "1 sentence", "{0} sentences")
    tokens = count_text(found.tokens, "1 token", "{0} tokens")
    words = [f"{sentences} with {tokens}, not counting padding. "]
    if cut := manifest.get("cut"):
        words.append(
            count_text(
                cut,
                "1 sentence was cut to the maximum length. ",
                "{0} sentences were cut to the maximum length. ",
            )
        )
    if left_out := manifest.get("left_out", 0) + manifest.get("unread", 0):
        words.append(
            count_text(
                left_out,
                "1 line could not be read and was skipped. ",
                "{0} lines could not be read and were skipped. ",
            )
        )
    yield Paragraph(tuple(words))
    files: list[dict[str, Any]] = manifest.get("data", [])
    rows = tuple(
        Row.of(file["name"], f"{file['sentences']:,}", Code(file["sha256"])) for file in files
    )
    columns = (Column("Data", share=1), Column("Sentences", "right"), Column("SHA-256"))
    yield Table(columns, rows)


def _layers(subject: Subject, found: Corpus, pictures: Pictures) -> Section | None:
    chart = quantile_chart(subject.architecture, found)
    if not chart.lines:
        return None
    stacks = (
        (line.label if len(chart.lines) > 1 else "", (_quantiles(found, p) for p in line.keys))
        for line in chart.lines
    )
    titles = (f"{100 * share:g}%" for share in QUANTILES)
    caption = "Quantiles of the output of each layer."
    table = layer_table(stacks, titles, _QUANTILES, caption, QUANTILE_DIGITS)
    intro = Paragraph.of(
        See(_LAYERS),
        " shows the median of each layer’s output over all tokens of all sentences, with the "
        "band that contains 90% of the values; ",
        See(_QUANTILES),
        " lists further quantiles. They are interpolated in histograms with bins up to 25% wide, "
        f"and therefore given with {QUANTILE_DIGITS} digits.",
    )
    picture = pictures.figure(
        "corpus-layers",
        chart,
        "The median of each layer’s output, and the band from 5% to 95%.",
        "A line over the layers with a band around it.",
    )
    return Section("corpus-layers", "Layer by layer", (intro, picture, table))


def _quantiles(found: Corpus, key: SelectionKey) -> Sequence[float | None]:
    sums = found.of(key.path or "")
    return (sums and sums.quantiles()) or [None] * len(QUANTILES)


def _values(found: Corpus, pictures: Pictures) -> Section | None:
    output = found.of("")
    chart = None if output is None else corpus_histogram(output)
    if chart is None:
        return None
    picture = pictures.figure(
        "corpus-values",
        chart,
        "Distribution of the model’s output, without the lowest and highest 0.1% of the values.",
        "A histogram.",
    )
    words = Paragraph.of(
        See(_VALUES), " shows the distribution of the model’s output over all tokens."
    )
    return Section("corpus-values", "Output values", (words, picture))


def _heads(subject: Subject, found: Corpus, pictures: Pictures) -> Section | None:
    layers, figures = corpus_heads(subject.architecture, found)
    if not layers:
        return None
    chart = head_measures_chart(layers, figures, "entropy")
    picture = pictures.figure(
        "corpus-entropy",
        Picture(chart, height=90 + 22 * len(layers)),
        "The entropy of each head, averaged over all tokens of all sentences.",
        "A heat map of layers by heads, coloured by entropy.",
    )
    rows = tuple(_head_rows(figures))
    columns = (
        Column("Measure", share=1),
        Column("Highest", "decimal"),
        Column("Head", share=1),
        Column("Lowest", "decimal"),
        Column("Head", share=1),
    )
    table = Table(
        columns, rows, _HEADS, ("The heads with the highest and the lowest value of each measure.",)
    )
    words = Paragraph.of(
        See(_ENTROPY),
        " shows the entropy of every head; ",
        See(_HEADS),
        " lists the extremes of each measure.",
    )
    return Section("corpus-heads", "Heads", (words, picture, table))


def _head_rows(figures: Mapping[AttentionLayer, HeadMeasures]) -> Iterator[Row]:
    for measure, title in _MEASURES.items():
        if heads := ranked_heads(figures, measure):
            ends = (heads[0], heads[-1])
            cells = [(exact(one.value), f"{one.layer.name}, head {one.head}") for one in ends]
            yield Row.of(title, *cells[0], *cells[1])


def _outliers(found: Corpus) -> Section | None:
    if found.outliers is None:
        return None
    rule = outlier_rule("a sentence’s hidden state")
    names = corpus_state_names(found)
    rows = tuple(_row(row, names) for row in outlier_rows(found)[:MAX_FEATURES])
    if not rows:
        nothing = f" No feature is an outlier in {FEW_SENTENCES:.0%} or more of the sentences."
        return Section("corpus-outliers", "Outlier features", (Paragraph.of(rule, nothing),))
    columns = (
        Column("Feature", "right"),
        Column("Sentences", "decimal", unit="%"),
        Column("Most often in"),
        Column("Tokens", "right"),
        Column("Deviation", "decimal", unit="std"),
    )
    caption = (
        "The features that are outliers in the most sentences, each in the hidden state where "
        "this is most frequent.",
    )
    words = Paragraph.of(rule, " ", See(_OUTLIERS), " lists them.")
    table = Table(columns, rows, _OUTLIERS, caption)
    return Section("corpus-outliers", "Outlier features", (words, table))


def _row(row: OutlierRow, names: Sequence[str]) -> Row:
    return Row.of(
        str(row.feature),
        f"{100 * row.share:.1f}",
        names[row.state],
        f"{row.tokens:,}",
        with_minus(f"{row.farthest:+.1f}"),
    )
