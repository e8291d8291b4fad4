"""What the attention mask does: the sentence padded, with the mask and without."""

from bertviewer.charts.labels import names_of_states, shortened, visible
from bertviewer.core.util.numbers import count_text, with_minus
from bertviewer.report.answers import answers
from bertviewer.report.blocks import (
    Block,
    Column,
    Paragraph,
    Row,
    Section,
    See,
    Table,
    TokenBox,
    Tokens,
)
from bertviewer.report.numbers import deviation
from bertviewer.report.subject import Subject

_STATES = "table:padding"
_LONGEST = 32


def mask(subject: Subject) -> Section | None:
    """Return the section; ``None`` where nothing was padded."""
    found, run = subject.looks.padding, subject.run
    if found is None or run is None:
        return None
    added = len(found.tokens) - found.count
    boxes = tuple(
        TokenBox(shortened(visible(token.text), _LONGEST), f"mask {shown}", not shown)
        for token, shown in zip(found.tokens, found.mask, strict=True)
    )
    names = names_of_states(run)
    rows = []
    for number, state in enumerate(found.states):
        name = names[number] if number < len(names) else str(number)
        differences = (state.masked, state.unmasked)
        rows.append(
            Row.of(
                name,
                *(with_minus(deviation(value)) for value in differences),
                f"{state.norm:.2f}",
                f"{state.padded_norm:.2f}",
            )
        )
    columns = (
        Column("Hidden state", share=1),
        Column("|Δ| with mask", "decimal"),
        Column("|Δ| without mask", "decimal"),
        Column("Norm, text", "decimal"),
        Column("Norm, padding", "decimal"),
    )
    caption = (
        "How far the vectors of the sentence’s tokens are from those without padding, and mean "
        "norms.",
    )
    intro = count_text(
        added,
        "Here the sentence was padded by one token, as in a batch with a longer one. ",
        "Here the sentence was padded by {0} tokens, as in a batch with a longer one. ",
    )
    same = (
        "With the mask, the vectors of its own tokens are the same as without padding, up to "
        "rounding. "
        if found.is_same
        else "Even with the mask, the vectors of its own tokens differ from those without padding. "
    )
    blocks: tuple[Block, ...] = (
        Paragraph.of(
            intro,
            same,
            See(_STATES),
            " gives the differences; the hidden states of padding positions are not zero.",
        ),
        Tokens(boxes),
        Table(columns, tuple(rows), _STATES, caption),
        *_shares(subject),
        *answers(subject, "mask"),
    )
    return Section("mask", "Padding and the attention mask", blocks)


def _shares(subject: Subject) -> tuple[Paragraph, ...]:
    """Say what part of the attention went to padding."""
    padding = subject.looks.padding
    if padding is None or not padding.attentions:
        return ()
    masked = max(layer.masked for layer in padding.attentions)
    unmasked = max(layer.unmasked for layer in padding.attentions)
    most = f"at most {masked:.2%}" if masked else "none"
    words = f"With the mask, {most} of a layer’s attention goes to padding; without it, "
    # A decoder's tokens see no later ones, of which padding is.
    words += f"up to {unmasked:.2%} does." if unmasked else "none does either."
    return (Paragraph.of(words),)
