"""Chapter on attention: measures of all heads, maps of some, and the effect of the mask."""

from collections.abc import Iterator

from bertviewer.charts.attention import (
    RunAttention,
    head_chart,
    head_measures_chart,
    heads_chart,
    measure_names,
    most_keys,
)
from bertviewer.charts.labels import names_of_states, shortened, visible
from bertviewer.core.analysis.attention_maps import Measure, RankedHead, ranked_heads
from bertviewer.core.analysis.padding import Padding
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import (
    Block,
    Column,
    Figure,
    Paragraph,
    Row,
    Section,
    See,
    Table,
    TokenBox,
    Tokens,
)
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures, heads_picture
from bertviewer.report.run_details import AttentionDetails
from bertviewer.report.subject import Subject
from bertviewer.report.tables import difference_text

_HEADS, _ENTROPY, _PADDING = "table:heads", "figure:entropy", "table:padding"
_SIDE = 620
_TOKEN_LENGTH = 32


def attention(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` if no attention exposes its weights."""
    run, details = subject.run, subject.details.attention
    if run is None or details is None:
        return None
    pictures = Pictures()
    blocks = (
        *_measures(run, details, pictures),
        *(
            _layer(RunAttention(run, details.maps[layer], layer), pictures)
            for layer in details.shown
        ),
        *_large(run, details, pictures),
        *subject.answers("attention"),
    )
    padding = subject.details.padding
    sections = () if padding is None else (_mask(subject, run, padding),)
    return ChapterDraft(Section("attention", "Attention", blocks, sections), pictures)


def _measures(run: ActivationRun, details: AttentionDetails, pictures: Pictures) -> Iterator[Block]:
    layers = tuple(details.measures)
    heads = sum(max(map(len, each.values()), default=0) for each in details.measures.values())
    yield Paragraph.of(
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
    )
    yield pictures.figure(
        "entropy",
        Picture(
            head_measures_chart(layers, details.measures, "entropy", keys=most_keys(run)),
            height=min(720, 90 + 22 * len(layers)),
        ),
        "The entropy of every head in nats, averaged over all tokens.",
        "A heat map of layers by heads, coloured by entropy.",
    )
    columns = (
        Column("Measure", share=1),
        Column("Layer", share=1),
        Column("Head", "right"),
        Column("Value", "decimal"),
    )
    rows = tuple(
        _best_row(measure, name, best[0])
        for measure, name in measure_names(run).items()
        if (best := ranked_heads(details.measures, measure))
    )
    yield Table(columns, rows, _HEADS, ("The head with the largest value of each measure.",))


def _best_row(measure: Measure, name: str, best: RankedHead) -> Row:
    unit = {"entropy": " nats", "distance": " tokens"}.get(measure, "")
    title = name if unit else f"attention to {'the ' if ' ' in name else ''}{name}"
    title = f"{title[:1].upper()}{title[1:]}"
    return Row.of(title, best.layer.name, str(best.head), f"{best.value:.4f}{unit}")


def _layer(attended: RunAttention, pictures: Pictures) -> Figure:
    layer, chart = attended.layer, heads_chart(attended)
    return pictures.figure(
        f"heads-{layer.path}-{layer.call}",
        heads_picture(chart),
        f"All heads of {layer.name}: rows are queries, columns are keys. H is the entropy in "
        "nats, d the mean attention distance in tokens.",
        f"The attention maps of all heads of {layer.name}.",
    )


def _large(run: ActivationRun, details: AttentionDetails, pictures: Pictures) -> Iterator[Figure]:
    if details.large is None:
        return
    layer, head = details.large.layer, details.large.head
    yield pictures.figure(
        "head",
        Picture(head_chart(RunAttention(run, details.maps[layer], layer), head), _SIDE, _SIDE),
        f"Head {head} of {layer.name}: attention of each query (row) to each key (column).",
        f"The attention map of head {head} of {layer.name}.",
        0.8,
    )


def _mask(subject: Subject, run: ActivationRun, padding: Padding) -> Section:
    """Describe the effect of padding, with and without the attention mask."""
    boxes = tuple(
        TokenBox(shortened(visible(token.text), _TOKEN_LENGTH), f"mask {value}", not value)
        for token, value in zip(padding.tokens, padding.mask, strict=True)
    )
    intro = count_text(
        len(padding.tokens) - padding.count,
        "Here the sentence was padded by one token, as in a batch with a longer one. ",
        "Here the sentence was padded by {0} tokens, as in a batch with a longer one. ",
    )
    effect = (
        "With the mask, the vectors of its own tokens are the same as without padding, up to "
        "rounding. "
        if padding.is_same
        else "Even with the mask, the vectors of its own tokens differ from those without padding. "
    )
    blocks: tuple[Block, ...] = (
        Paragraph.of(
            intro,
            effect,
            See(_PADDING),
            " gives the differences; the hidden states of padding positions are not zero.",
        ),
        Tokens(boxes),
        _padding_table(run, padding),
        *_attention_to_padding(padding),
        *subject.answers("mask"),
    )
    return Section("mask", "Padding and the attention mask", blocks)


def _padding_table(run: ActivationRun, padding: Padding) -> Table:
    names = names_of_states(run)
    columns = (
        Column("Hidden state", share=1),
        Column("|Δ| with mask", "decimal"),
        Column("|Δ| without mask", "decimal"),
        Column("Norm, text", "decimal"),
        Column("Norm, padding", "decimal"),
    )
    rows = tuple(
        Row.of(
            names[number] if number < len(names) else str(number),
            difference_text(state.masked),
            difference_text(state.unmasked),
            f"{state.norm:.2f}",
            f"{state.padded_norm:.2f}",
        )
        for number, state in enumerate(padding.states)
    )
    caption = (
        "How far the vectors of the sentence’s tokens are from those without padding, and mean "
        "norms.",
    )
    return Table(columns, rows, _PADDING, caption)


def _attention_to_padding(padding: Padding) -> Iterator[Paragraph]:
    if not padding.attentions:
        return
    masked = max(layer.masked for layer in padding.attentions)
    unmasked = max(layer.unmasked for layer in padding.attentions)
    most = f"at most {masked:.2%}" if masked else "none"
    # With a causal mask, tokens do not attend to later positions such as padding.
    without = f"up to {unmasked:.2%} does." if unmasked else "none does either."
    yield Paragraph.of(
        f"With the mask, {most} of a layer’s attention goes to padding; without it, {without}"
    )
