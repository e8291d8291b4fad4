"""Chapter on a corpus: quantiles by layer, values, heads and outlier features."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bertviewer.charts.attention import head_measures_chart
from bertviewer.charts.chart import LineChart
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
from bertviewer.core.util.numbers import count_text, percent_text, with_minus
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
from bertviewer.report.chapters.attention import head_name
from bertviewer.report.chapters.sentence import outlier_rule
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.tables import layer_table

MAX_FEATURES, MAX_HEIGHT = 12, 400
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
    files: list[dict[str, Any]] = manifest.get("data", [])
    if len(files) == 1:
        name, digest = files[0]["name"], files[0]["sha256"]
        yield Paragraph.of(*words, f"The data is {name}, with SHA-256 ", Code(digest), ".")
        return
    yield Paragraph(tuple(words))
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
    table = layer_table(
        stacks, titles, _QUANTILES, "Quantiles of the output of each layer.", QUANTILE_DIGITS
    )
    intro = Paragraph.of(
        See(_LAYERS),
        " shows the median of each layer’s output over all tokens of all sentences, with the "
        "band that contains 90% of the values; ",
        See(_QUANTILES),
        " lists further quantiles. A quantile is interpolated within a bin of a histogram, which "
        "is at most a quarter of its lower edge wide; as it may be off by up to 25%, it is given "
        f"with {QUANTILE_DIGITS} digits.",
    )
    picture = pictures.figure(
        "corpus-layers",
        chart,
        f"Median of each layer’s output, with the band from 5% to 95%.{_widest(chart)}",
        "A line over the layers with a band around it.",
    )
    return Section("corpus-layers", "Layer by layer", (intro, picture, table))


def _widest(chart: LineChart) -> str:
    """Return a sentence on the layers with the widest and the narrowest band."""
    widths = [
        (high - low, number, line.label)
        for line in chart.lines
        for number, (low, high) in enumerate(zip(line.low or (), line.high or (), strict=True))
        if low is not None and high is not None
    ]
    if len(widths) < 2 or max(widths)[0] == min(widths)[0]:
        return ""
    ends = [
        f"layer {number}{f' of {label}' if len(chart.lines) > 1 else ''} ({width:.2g})"
        for width, number, label in (max(widths), min(widths))
    ]
    return f" The band is widest in {ends[0]} and narrowest in {ends[1]}."


def _quantiles(found: Corpus, key: SelectionKey) -> Sequence[float | None]:
    sums = found.of(key.path or "")
    return (sums and sums.quantiles()) or [None] * len(QUANTILES)


def _values(found: Corpus, pictures: Pictures) -> Section | None:
    output = found.of("")
    chart = None if output is None else corpus_histogram(output)
    if output is None or chart is None:
        return None
    picture = pictures.figure(
        "corpus-values",
        chart,
        "Distribution of the model’s output, without the lowest and highest 0.1% of the values.",
        "A histogram.",
    )
    statistics = output.statistics
    spread = ""
    if statistics.mean is not None and statistics.std is not None:
        mean, std = (with_minus(f"{value:.3g}") for value in (statistics.mean, statistics.std))
        spread = f"; it has mean {mean} and standard deviation {std}"
    words = Paragraph.of(
        See(_VALUES), f" shows the distribution of the model’s output over all tokens{spread}."
    )
    return Section("corpus-values", "Output values", (words, picture))


def _heads(subject: Subject, found: Corpus, pictures: Pictures) -> Section | None:
    layers, figures = corpus_heads(subject.architecture, found)
    if not layers:
        return None
    ranked = ranked_heads(figures, "entropy")
    rows = tuple(_head_rows(figures))
    if len(ranked) < 2 or not rows:
        return None
    ends = [
        f"{head_name(one.layer, one.head)} ({one.value:.2f})" for one in (ranked[-1], ranked[0])
    ]
    chart = head_measures_chart(layers, figures, "entropy")
    picture = pictures.figure(
        "corpus-entropy",
        Picture(chart, height=min(MAX_HEIGHT, 90 + 22 * len(layers))),
        "Entropy of each head in nats, averaged over all tokens of all sentences. The most "
        f"concentrated is {ends[0]}, the broadest {ends[1]}.",
        "A heat map of layers by heads, coloured by entropy.",
    )
    columns = (
        Column("Measure", share=1),
        Column("Highest", "decimal"),
        Column("Head", share=1),
        Column("Lowest", "decimal"),
        Column("Head", share=1),
    )
    caption = "The heads with the highest and the lowest value of each measure."
    table = Table(columns, rows, _HEADS, (caption,))
    words = Paragraph.of(
        See(_ENTROPY),
        " shows how evenly each head attends; ",
        See(_HEADS),
        " lists the extremes of each measure.",
    )
    return Section("corpus-heads", "Heads", (words, picture, table))


def _head_rows(figures: Mapping[AttentionLayer, HeadMeasures]) -> Iterator[Row]:
    for measure, title in _MEASURES.items():
        heads = ranked_heads(figures, measure)
        if heads and heads[0].value > heads[-1].value:
            ends = (heads[0], heads[-1])
            cells = [(f"{one.value:.4f}", f"{one.layer.name}, head {one.head}") for one in ends]
            yield Row.of(title, *cells[0], *cells[1])


def _outliers(found: Corpus) -> Section | None:
    if found.outliers is None:
        return None
    rule = outlier_rule("a sentence’s hidden state")
    names = corpus_state_names(found)
    every = outlier_rows(found)
    if not every:
        nothing = f" No feature is an outlier in {FEW_SENTENCES:.0%} or more of the sentences."
        return Section("corpus-outliers", "Outlier features", (Paragraph.of(rule, nothing),))
    first = every[0]
    share = (
        "all sentences" if first.share == 1 else f"{percent_text(first.share, 1)} of the sentences"
    )
    words = [
        f"{rule} ",
        count_text(
            len(every),
            "1 feature is an outlier in at least {1} of the sentences: ",
            "{0} features are outliers in at least {1} of the sentences, most often ",
            f"{FEW_SENTENCES:.0%}",
        ),
        f"feature {first.feature}, in {share} ({names[first.state]}); there it deviates by "
        f"up to {with_minus(f'{first.farthest:+.1f}')} standard deviations.",
    ]
    if len(every) == 1:
        return Section("corpus-outliers", "Outlier features", (Paragraph.of(*words),))
    columns = (
        Column("Feature", "right"),
        Column("Sentences", "decimal", unit="%"),
        Column("Most often in", share=1),
        Column("Tokens", "right"),
        Column("Deviation", "decimal", unit="std"),
    )
    rows = tuple(_row(row, names) for row in every[:MAX_FEATURES])
    omitted = len(every) - len(rows)
    caption = (
        "Features that are outliers in the most sentences, each in the hidden state where this is "
        "most frequent.",
        f" The other {omitted:,} are omitted." if omitted else "",
    )
    table = Table(columns, rows, _OUTLIERS, caption)
    blocks = (Paragraph.of(*words, " ", See(_OUTLIERS), " lists the most frequent ones."), table)
    return Section("corpus-outliers", "Outlier features", blocks)


def _row(row: OutlierRow, names: Sequence[str]) -> Row:
    return Row.of(
        str(row.feature),
        f"{100 * row.share:.1f}",
        names[row.state],
        f"{row.tokens:,}",
        with_minus(f"{row.farthest:+.1f}"),
    )
