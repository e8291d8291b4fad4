"""Chapter on attention: measures of all heads, maps of some, and the effect of the mask."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

import numpy as np
from msgspec.structs import replace

from bertviewer.charts.attention import (
    RunAttention,
    head_chart,
    head_measures_chart,
    heads_chart,
    most_keys,
)
from bertviewer.charts.labels import names_of_states, shortened, visible
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import (
    AttentionMaps,
    HeadMeasures,
    Kind,
    ranked_heads,
    received_attention,
)
from bertviewer.core.analysis.padding import Padding
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import count_text, percent_text
from bertviewer.core.util.text import joined, upper_first
from bertviewer.report.blocks import (
    Block,
    Figure,
    Paragraph,
    Section,
    See,
    Span,
    TokenBox,
    Tokens,
)
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures, heads_picture
from bertviewer.report.run_details import AttentionDetails
from bertviewer.report.subject import Subject
from bertviewer.report.tables import difference_text
from bertviewer.report.words import quoted_token

_ENTROPY = "figure:entropy"
_LARGE, _SMALL = (620, 0.8), (400, 0.5)
"""Pixels of a map, and its share of the text width; small for texts of ``_FEW_TOKENS``."""
_FEW_TOKENS = 16
_MAX_HEIGHT = 400
_MAX_BOXES = 40
_TOKEN_LENGTH = 32
_DEFINITION = (
    "Shares are means over the queries that have such a token. A head attends mainly to tokens "
    "that receive at least half of its attention, and at least twice what uniform attention would "
    "give them; it is broad if its entropy is at least 90% of that of uniform attention."
)


def attention(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` if no attention exposes its weights."""
    run, details = subject.run, subject.details.attention
    if run is None or details is None:
        return None
    pictures = Pictures()
    large = None if details.large is None else details.large.layer
    figures = (
        *_entropy(run, details, pictures),
        *(
            _layer(run, details, layer, pictures)
            for layer in details.shown
            if layer != large or len(details.maps[layer].probabilities) > 1
        ),
        *_large(run, details, pictures),
    )
    blocks: tuple[Block, ...] = (
        *_overview(run, details),
        *_references(figures),
        *figures,
        *subject.answers("attention"),
    )
    padding = subject.details.padding
    sections = () if padding is None else (_mask(subject, run, padding),)
    return ChapterDraft(Section("attention", "Attention", blocks, sections), pictures)


def _references(figures: Sequence[Figure]) -> Iterator[Paragraph]:
    """Yield what the figures show."""
    spans: list[Span] = []
    for figure in figures:
        shows = f" shows {figure.alt[:1].lower()}{figure.alt[1:].rstrip('.')}"
        spans += ["; " if spans else "", See(figure.name), shows]
    if spans:
        yield Paragraph.of(*spans, ".")


def layer_name(layer: AttentionLayer) -> str:
    """Return "layer 0", or "the cross-attention of decoder layer 0"."""
    if layer.number is None or not layer.kind:
        return layer.name
    kind = f"{layer.kind}-attention" if layer.kind in ("self", "cross") else layer.kind
    return f"the {kind} of {replace(layer, kind='').name}"


def head_name(layer: AttentionLayer, head: int) -> str:
    """Return "head 2 of layer 0"."""
    return f"head {head} of {layer_name(layer)}"


def targets(run: ActivationRun) -> Mapping[Kind, str]:
    """Return what the heads of each kind attend to, in a run's own tokens."""
    special = [one for one in token_classes(run) if one.name in ("cls", "sep")]
    labels = dict.fromkeys(shortened(visible(one.label), _TOKEN_LENGTH) for one in special)
    return {
        "previous": "the previous token",
        "next": "the next token",
        "same": "the same token",
        "special": " and ".join(labels),
        "first": "the first token",
    }


def _overview(run: ActivationRun, details: AttentionDetails) -> Iterator[Paragraph]:
    """Count the heads by what they attend to."""
    heads = sum(len(each["entropy"]) for each in _known(details).values())
    size = count_text(
        len(details.measures),
        "This chapter covers one attention layer with {1}. ",
        "This chapter covers {0} attention layers with {1} in total. ",
        count_text(heads, "1 head", "{0} heads"),
    )
    every = [(layer, one) for layer, each in details.kinds.items() for one in each]
    if not every:
        nothing = "Every query has a single key, so that its weight is 1 in every head."
        if any(details.uniform.values()):
            nothing = "None of them has finite weights."
        yield Paragraph.of(size, nothing)
        return
    if details.large is None:
        ends = dict.fromkeys(f"{end(_entropies(details)):.2f}" for end in (min, max))
        range_text = (
            f"lie between {' and '.join(ends)}" if len(ends) > 1 else f"are {next(iter(ends))}"
        )
        is_omitted = not details.shown
        yield Paragraph.of(
            size,
            "In this run, all heads attend nearly uniformly: their entropies, averaged over the "
            f"queries, {range_text} nats, and uniform attention would give {_most(details)}. ",
            "Their maps show no pattern and are omitted." if is_omitted else "",
        )
        return
    parts = []
    for kind, target in targets(run).items():
        found = [(layer, one) for layer, one in every if one.kind == kind]
        if found:
            layer, best = max(found, key=lambda pair: pair[1].share)
            name = f"{head_name(layer, best.head)}, {percent_text(best.share, 1)}"
            most = f" (most of all {name})" if len(found) > 1 else f" ({name})"
            parts.append((len(found), f"to {target}{most}"))
    sentences = [
        "In this run, no head attends mainly to the previous, the next, the same, the first or a "
        "special token. "
    ]
    if parts:
        first = count_text(parts[0][0], "1 head attends mainly ", "{0} heads attend mainly ")
        others = (f"{count} {text}" for count, text in parts[1:])
        sentences = [f"In this run, {joined((first + parts[0][1], *others))}. "]
    broad, rest = ([one for _, one in every if one.kind == kind] for kind in ("broad", "other"))
    if broad:
        sentences.append(
            count_text(
                len(broad),
                "1 head is broad: it spreads its attention almost evenly. ",
                "{0} heads are broad: they spread their attention almost evenly. ",
            )
        )
    if rest and len(rest) < len(every):
        sentences.append(
            count_text(
                len(rest),
                "The remaining head shows none of these patterns.",
                "The remaining {0} heads show none of these patterns.",
            )
        )
    yield Paragraph.of(size, *sentences)
    yield Paragraph.of(_DEFINITION, look="note")


def _known(details: AttentionDetails) -> Mapping[AttentionLayer, HeadMeasures]:
    """Return the measures of the layers with finite entropies."""
    return {layer: each for layer, each in details.measures.items() if "entropy" in each}


def _entropies(details: AttentionDetails) -> list[float]:
    values = [value for each in _known(details).values() for value in each["entropy"].tolist()]
    return list(filter(isfinite, values))


def _most(details: AttentionDetails) -> str:
    """Return the entropy of uniform attention, or its range over the layers."""
    ends = dict.fromkeys(f"{end(details.uniform.values()):.2f}" for end in (min, max))
    return " to ".join(ends)


def _entropy(run: ActivationRun, details: AttentionDetails, pictures: Pictures) -> Iterator[Figure]:
    """Yield the map of entropies, unless it would have one colour only."""
    ranked = ranked_heads(details.measures, "entropy")
    if details.large is None or not ranked or ranked[0].value == ranked[-1].value:
        return
    layers = tuple(details.measures)
    high, low = (
        f"{head_name(one.layer, one.head)} ({one.value:.2f})" for one in ranked[:: len(ranked) - 1]
    )
    yield pictures.figure(
        "entropy",
        Picture(
            head_measures_chart(layers, details.measures, "entropy", keys=most_keys(run)),
            height=min(_MAX_HEIGHT, 90 + 22 * len(layers)),
        ),
        f"Entropy of each head in nats, averaged over the queries. The most concentrated is {low}, "
        f"the broadest {high}; uniform attention would give {_most(details)}.",
        "A heat map of layers by heads, coloured by entropy.",
    )


def _layer(
    run: ActivationRun, details: AttentionDetails, layer: AttentionLayer, pictures: Pictures
) -> Figure:
    kinds = details.kinds.get(layer, ())
    parts = [
        f"{_heads_text(found)} {_attends(len(found), target)}"
        for kind, target in targets(run).items()
        if (found := [one.head for one in kinds if one.kind == kind])
    ]
    if broad := [one.head for one in kinds if one.kind == "broad"]:
        parts.append(f"{_heads_text(broad)} {'is' if len(broad) == 1 else 'are'} broad")
    seen = joined(parts)
    has_distance = details.maps[layer].distances is not None
    return pictures.figure(
        f"heads-{layer.path}-{layer.call}",
        heads_picture(heads_chart(RunAttention(run, details.maps[layer], layer))),
        f"All heads of {layer_name(layer)}, with queries as rows and keys as columns. "
        + (f"{upper_first(seen)}. " if seen else "")
        + "H is the entropy in nats"
        + (", d the mean distance in tokens." if has_distance else "."),
        f"The attention maps of all heads of {layer_name(layer)}.",
    )


def _heads_text(heads: Sequence[int]) -> str:
    return f"head{'' if len(heads) == 1 else 's'} {joined([*map(str, heads)])}"


def _attends(count: int, target: str) -> str:
    return f"{'attends' if count == 1 else 'attend'} mainly to {target}"


def _large(run: ActivationRun, details: AttentionDetails, pictures: Pictures) -> Iterator[Figure]:
    if details.large is None:
        return
    layer, head = details.large.layer, details.large.head
    maps, name = details.maps[layer], head_name(layer, head)
    kind = next(one for one in details.kinds[layer] if one.head == head)
    seen = (
        f"attends mainly to {targets(run)[kind.kind]}, which receives "
        f"{percent_text(kind.share, 1)} of its attention; uniform attention would give "
        f"it {percent_text(kind.uniform, 1)}."
        if kind.kind != "other"
        else f"is the most concentrated: its entropy is {percent_text(kind.share)} of that of "
        f"uniform attention. {_favourite(run, maps, head)}"
    )
    keys = max(len(maps.query_tokens), len(maps.key_tokens))
    side, width = _SMALL if keys <= _FEW_TOKENS else _LARGE
    yield pictures.figure(
        "head",
        Picture(head_chart(RunAttention(run, maps, layer), head), side, side),
        f"{upper_first(name)} {seen} Rows are queries, columns are keys.",
        f"The attention map of {name}.",
        width,
    )


def _favourite(run: ActivationRun, maps: AttentionMaps, head: int) -> str:
    """Return which token receives most of a head's attention."""
    received = received_attention(maps)
    shares = received.shares[head]
    best = int(np.nanargmax(shares))
    token = received.tokens[best]
    share = percent_text(float(shares[best]), 1)
    return f"On average, {quoted_token(run, token)} receives most, {share}."


def _mask(subject: Subject, run: ActivationRun, padding: Padding) -> Section:
    """Describe the effect of padding, with and without the attention mask."""
    boxes = tuple(
        TokenBox(shortened(visible(token.text), _TOKEN_LENGTH), str(value), not value)
        for token, value in zip(padding.tokens, padding.mask, strict=True)
    )
    blocks: tuple[Block, ...] = (
        Paragraph(tuple(_padding(run, padding))),
        *((Tokens(boxes),) if len(boxes) <= _MAX_BOXES else ()),
        *subject.answers("mask"),
    )
    return Section("mask", "Padding and the attention mask", blocks)


def _padding(run: ActivationRun, padding: Padding) -> Iterator[str]:
    """Yield sentences on the effect of padding on the vectors of the text."""
    yield count_text(
        len(padding.tokens) - padding.count,
        "For this section, one padding token was appended to the text, as in a batch with a "
        "longer text; the attention mask is 1 for the text and 0 for the padding. ",
        "For this section, {0} padding tokens were appended to the text, as in a batch with a "
        "longer text; the attention mask is 1 for the text and 0 for the padding. ",
    )
    masked = max(state.masked for state in padding.states)
    if not all(isfinite(state.masked + state.unmasked) for state in padding.states):
        yield "Some hidden states are not finite, so that the effect of the mask is unknown."
        return
    most = max(padding.states, key=lambda state: state.unmasked)
    rounding = f" up to rounding (at most {difference_text(masked)})" if masked else ""
    yield (
        f"With the mask, the hidden states of the text equal those without padding{rounding}. "
        if padding.is_same
        else "Even with the mask, the hidden states of the text differ from those without padding, "
        f"by up to {difference_text(masked)}. "
    )
    names, number = names_of_states(run), padding.states.index(most)
    where = names[number] if number < len(names) else f"hidden state {number}"
    shares = [layer.unmasked for layer in padding.attentions]
    received = (
        f" padding then receives up to {percent_text(max(shares), 1)} of the attention of the "
        "text’s tokens, averaged over the heads of a layer."
        if shares
        else ""
    )
    if most.changes:
        change = f"{most.unmasked:.2f}" if most.unmasked >= 0.1 else difference_text(most.unmasked)
        yield f"Without it, they differ by up to {change} ({where})"
        yield f":{received} " if received and max(shares) else ". "
    elif padding.is_same:
        yield "Without it, they do not change either"
        yield (", because no token attends to later positions. " if padding.is_causal else ". ")
    if leaked := max((layer.masked for layer in padding.attentions), default=0.0):
        yield (
            f"Even with the mask, padding receives up to {percent_text(leaked, 1)} of the "
            "attention of the text’s tokens, averaged over the heads of a layer. "
        )
    last = padding.states[-1]
    if last.padded_norm > 0:
        yield (
            "The hidden states of padding positions are computed as well and are not zero: in the "
            f"last hidden state, the mean norm is {last.padded_norm:.2f} for the padding and "
            f"{last.norm:.2f} for the text."
        )
