"""Chapter on a run: tokens, statistics, norms, outlier features and the model's output."""

from collections.abc import Iterator
from math import prod

from msgspec.structs import replace

from bertviewer.charts.labels import names_of_states, shortened, visible
from bertviewer.charts.layers import BAND, SPREAD, layer_chart
from bertviewer.charts.statistics import histogram_chart
from bertviewer.charts.token_charts import norms_chart
from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.analysis.tokens import second_start
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.statistics import statistic_value
from bertviewer.core.statistics.accumulators import DEVIATIONS
from bertviewer.core.util.numbers import count_text, number_text, with_minus
from bertviewer.report.blocks import (
    Block,
    Break,
    Code,
    Column,
    Paragraph,
    Row,
    Section,
    See,
    Table,
    Text,
    TokenBox,
    Tokens,
)
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.run_text import tokenizer_note
from bertviewer.report.subject import Subject
from bertviewer.report.tables import exact, layer_table

TOKEN_LENGTH = 32
MAX_FEATURES = 12
CONSTANT_DIGITS = 4
MIN_ELEMENTS = 100
"""Statistics of fewer elements say nothing: those of a classifier are its logits."""
_LAYERS, _NORMS, _HISTOGRAM = "figure:layers", "figure:norms", "figure:histogram"
_STATISTICS, _OUTLIERS = "table:statistics", "table:outliers"

STATISTIC_TITLES = {
    "mean": "Mean",
    "std": "Std",
    "min": "Min",
    "max": "Max",
    "rms": "RMS",
    "zero_fraction": "Zeros",
    "nan_count": "NaN",
    "inf_count": "Inf",
}

STATISTIC_PHRASES = {
    "mean": "mean",
    "std": "standard deviation",
    "min": "minimum",
    "max": "maximum",
    "rms": "root mean square",
    "zero_fraction": "fraction of zeros",
    "nan_count": "number of NaNs",
    "inf_count": "number of infinite values",
    SPREAD: SPREAD,
    BAND: SPREAD,
}
"""The statistics that can be plotted by layer, for use in a sentence."""


def sentence(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` without a run."""
    run = subject.run
    if run is None:
        return None
    pictures = Pictures()
    sections = (
        _layers(subject, run, pictures),
        _norms(run, pictures),
        _outliers(subject, run),
        _output(subject, run, pictures),
    )
    found = tuple(filter(None, sections))
    blocks = (*text_blocks(subject, run), *subject.answers("tokens"))
    return ChapterDraft(Section("sentence", "The sentence", blocks, found), pictures)


def text_blocks(subject: Subject, run: ActivationRun) -> Iterator[Block]:
    """Yield the text that was run and its tokens."""
    yield Paragraph(run_text(run), "quote")
    has_segments = _has_segments(subject)
    words = f"{tokenizer_note(run)}. Each token is shown below with its id in the vocabulary"
    yield Paragraph.of(
        f"{words} and, after the dot, its segment id." if has_segments else f"{words}."
    )
    second = second_start(run.tokens)
    yield Tokens(
        tuple(
            TokenBox(
                shortened(visible(token.text), TOKEN_LENGTH),
                f"{token.id} · {token.segment}" if has_segments else str(token.id),
                second is not None and place >= second,
            )
            for place, token in enumerate(run.tokens)
        )
    )


def run_text(run: ActivationRun) -> Text:
    """Return the text that was run, and a second one on its own line."""
    text, pair = run.sentence.text, run.sentence.pair
    return (text,) if pair is None else (text, Break(), pair)


def outlier_rule(state: str) -> str:
    """Return the definition of an outlier feature of a hidden state."""
    return (
        f"A feature of {state} is called an outlier if its value for some token is more than "
        f"{DEVIATIONS:g} standard deviations from the mean of that state (Bondarenko et al. "
        "2021)."
    )


def _has_segments(subject: Subject) -> bool:
    """Return whether the model has segment embeddings; GPT-2 and T5 have none."""
    tensors = subject.architecture.parameters
    return any(tensor.name.endswith("token_type_embeddings.weight") for tensor in tensors)


def _layers(subject: Subject, run: ActivationRun, pictures: Pictures) -> Section | None:
    architecture, statistic = subject.architecture, subject.statistic
    phrase = STATISTIC_PHRASES[statistic]
    every = [layer_chart(architecture, run, name).lines for name in STATISTIC_TITLES]
    lines = every[0]
    if not lines:
        return None
    stacks = (
        (
            line.label if len(lines) > 1 else "",
            zip(*(one[place].values for one in every), strict=True),
        )
        for place, line in enumerate(lines)
    )
    table = layer_table(
        stacks,
        STATISTIC_TITLES.values(),
        _STATISTICS,
        "Statistics of each layer’s output over all finite elements; std is the population "
        "standard deviation.",
    )
    if any(column.title == STATISTIC_TITLES["zero_fraction"] for column in table.columns):
        table = replace(table, caption=(*table.caption, " Zeros is the fraction of exact zeros."))
    chart = layer_chart(architecture, run, statistic)
    all_statistics = See(_STATISTICS), " gives all statistics."
    blocks: tuple[Block, ...]
    if chart.constant is not None:
        value = number_text(chart.constant, CONSTANT_DIGITS)
        parts = (part for line in chart.lines for _, part in line.columns())
        finite = "" if all(None not in part for part in parts) else " with finite elements"
        same = f"The {phrase} of each layer’s output{finite} is {value}, up to rounding; "
        blocks = (Paragraph.of(same, *all_statistics),)
    else:
        intro = See(_LAYERS), f" plots the {phrase} of each layer’s output; "
        picture = pictures.figure(
            "layers",
            Picture(chart, height=240),
            f"The {phrase} of each layer’s output.",
            f"A line over the layers: the {phrase} of each layer’s output.",
        )
        blocks = (Paragraph.of(*intro, *all_statistics), picture)
    blocks = (*blocks, table, *subject.answers("statistics"))
    return Section("statistics", "Layer by layer", blocks)


def _norms(run: ActivationRun, pictures: Pictures) -> Section | None:
    if not run.token_norms:
        return None
    chart, states = norms_chart(run), names_of_states(run)
    if chart.constant is not None:
        value = number_text(chart.constant, CONSTANT_DIGITS)
        same = f"The vector of every token has a Euclidean norm of {value} in every hidden state."
        return Section("norms", "Token norms", (Paragraph.of(same),))
    # GPT-2's last hidden state is the output of a norm after the last layer.
    last = states[-1] if states else "the last layer"
    words = Paragraph.of(
        See(_NORMS),
        f" shows the Euclidean norm of each token’s vector, from the embeddings (emb) to {last}.",
    )
    picture = pictures.figure(
        "norms",
        chart,
        "The norm of each token’s vector in every hidden state.",
        "A heat map of hidden states by tokens, coloured by norm.",
    )
    return Section("norms", "Token norms", (words, picture))


def _outliers(subject: Subject, run: ActivationRun) -> Section | None:
    if not run.hidden_states:
        return None
    found = outlier_features(run)
    rule = outlier_rule("a hidden state")
    if not found:
        nothing = Paragraph.of(rule, " This run has none.")
        return Section("outliers", "Outlier features", (nothing,))
    states = names_of_states(run)
    rows = []
    for feature in found[:MAX_FEATURES]:
        largest = feature.largest
        token = visible(run.tokens[largest.token].text)
        rows.append(
            Row.of(
                str(feature.index),
                f"{len(feature.states)} of {len(run.hidden_states)}",
                with_minus(f"{largest.deviation:+.1f}"),
                states[largest.state],
                (shortened(token, TOKEN_LENGTH), f" ({largest.token})"),
            )
        )
    columns = (
        Column("Feature", "right"),
        Column("Hidden states", "right"),
        Column("Deviation", "decimal", unit="std"),
        Column("State", share=1),
        Column("Token", share=1),
    )
    caption = "The outlier features, sorted by number of hidden states."
    if len(found) > MAX_FEATURES:
        caption = f"The first {MAX_FEATURES} of {len(found):,} outlier features."
    words = Paragraph.of(rule, " ", See(_OUTLIERS), " lists them.")
    table = Table(columns, tuple(rows), _OUTLIERS, (caption,))
    blocks: tuple[Block, ...] = (words, table, *subject.answers("outliers"))
    return Section("outliers", "Outlier features", blocks)


def _output(subject: Subject, run: ActivationRun, pictures: Pictures) -> Section:
    root = run.modules[0]
    statistics = root.statistics
    shape = Code(shape_text(root.output_shape))
    if root.skip_reason:
        words: Text = (f"The model’s output was not measured: {root.skip_reason}.",)
    elif statistics.std is None:
        words = ("The model’s output has no finite elements.",)
    elif prod(root.output_shape) < MIN_ELEMENTS:
        words = ("The model’s output has the shape ", shape, ".")
    else:
        mean, std, least, most = (
            exact(statistic_value(statistics, name), 4) for name in ("mean", "std", "min", "max")
        )
        words = (
            "The elements of the model’s output ",
            shape,
            f" have a mean of {mean} and a standard deviation of {std}; they lie between {least} "
            f"and {most}.",
        )
    words = (*words, *_not_finite(run))
    blocks: list[Block] = [Paragraph(words)]
    if subject.details.histogram is not None and prod(root.output_shape) >= MIN_ELEMENTS:
        chart = histogram_chart(subject.details.histogram, statistics)
        words = (*words, " ", See(_HISTOGRAM), " shows the distribution of the elements.")
        blocks[0] = Paragraph(words)
        blocks.append(
            pictures.figure(
                "histogram",
                Picture(chart, height=230),
                "Distribution of the elements of the model’s output.",
                "A histogram of the elements of the output.",
            )
        )
    return Section("output", "Output of the model", tuple(blocks))


def _not_finite(run: ActivationRun) -> Text:
    found = [module.statistics for module in run.modules]
    nan, inf = sum(one.nan_count for one in found), sum(one.inf_count for one in found)
    if not nan and not inf:
        return (" No module produced a NaN or an infinite value.",)
    return (
        count_text(
            nan, " All modules together produced 1 NaN", " All modules together produced {0} NaNs"
        ),
        count_text(inf, " and 1 infinite value.", " and {0} infinite values."),
    )
