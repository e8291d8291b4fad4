"""Sentences as one vector, and a padded sentence, as tables and in words."""

from msgspec.structs import replace

from bertviewer.charts.table import EMPTY, DataTable, TableCell, TableColumn, number_cell, text_cell
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.padding import PaddedAttention, Padding
from bertviewer.core.analysis.sentence_vectors import PooledCosines, SentenceComparison
from bertviewer.core.util.numbers import count_text, number_text

_DIGITS = 3


def sentence_table(compared: SentenceComparison) -> DataTable:
    """Return the cosine of two sentences by each kind of vector, beside unrelated sentences."""
    columns = (
        TableColumn(translate("charts", "Vector")),
        TableColumn(translate("charts", "This pair"), "number", "Cosine of the two sentences"),
        TableColumn(
            translate("charts", "Unrelated"), "number", "Mean cosine of unrelated sentences"
        ),
        TableColumn(translate("charts", "min"), "number", "Minimum of unrelated sentences"),
        TableColumn(translate("charts", "max"), "number", "Maximum of unrelated sentences"),
    )
    return DataTable(columns, tuple(_cosines(each) for each in compared.poolings))


def _cosines(each: PooledCosines) -> tuple[TableCell, ...]:
    unrelated = each.last_unrelated
    others = (
        (EMPTY,) * 3
        if unrelated is None
        else tuple(
            number_cell(one, _DIGITS) for one in (unrelated.mean, unrelated.low, unrelated.high)
        )
    )
    # What no unrelated sentences reach says something.
    is_above = unrelated is not None and each.last is not None and each.last > unrelated.high
    cosine = number_cell(each.last, _DIGITS)
    name = each.label if each.pooling == "cls" else translate("charts", each.label)
    return (text_cell(name), replace(cosine, is_bold=is_above), *others)


def sentence_line(compared: SentenceComparison) -> str:
    """Return in words what the table is of."""
    count = len(compared.unrelated)
    text = translate(
        "charts",
        "Each sentence was run on its own, up to the last layer. “Unrelated” covers the {0} "
        "pairs of {1} plain sentences; only a higher cosine is meaningful.",
    )
    return text.format(count * (count - 1) // 2, count)


def padding_table(padding: Padding) -> DataTable:
    """Return what padding does to each hidden state, and what attention it gets in each layer."""
    columns = (
        TableColumn(translate("charts", "Layer")),
        TableColumn(translate("charts", "Change: mask"), "number", "Largest change with the mask"),
        TableColumn(translate("charts", "no mask"), "number", "Largest change without the mask"),
        TableColumn(
            translate("charts", "Attention: mask"),
            "number",
            "Attention to padding with the mask",
        ),
        TableColumn(
            translate("charts", "no mask"),
            "number",
            "Attention to padding without the mask",
        ),
        TableColumn(translate("charts", "‖h‖: padding"), "number", "Mean norm of padding vectors"),
        TableColumn(translate("charts", "text"), "number", "Mean norm of text vectors"),
    )
    # An attention leads to the hidden state after it.
    attentions = (None, *padding.attentions)
    rows = []
    for place, state in enumerate(padding.states):
        attention = attentions[place] if place < len(attentions) else None
        rows.append(
            (
                text_cell(translate("charts", "emb") if place == 0 else str(place - 1)),
                number_cell(state.masked, 2),
                number_cell(state.unmasked, 2),
                *_shares(attention),
                number_cell(state.padded_norm, _DIGITS),
                number_cell(state.norm, _DIGITS),
            )
        )
    return DataTable(columns, tuple(rows))


def _shares(attention: PaddedAttention | None) -> tuple[TableCell, TableCell]:
    if attention is None:
        return EMPTY, EMPTY
    masked, unmasked = (
        TableCell(share, f"{share:.1%}" if share else "0", tip=repr(share))
        for share in (attention.masked, attention.unmasked)
    )
    return masked, unmasked


def padding_line(padding: Padding) -> str:
    """Return in words what the mask does, with the largest figures."""
    last = padding.states[-1]
    shares = [attention.unmasked for attention in padding.attentions]
    parts = [_same(padding)]
    if padding.is_causal:
        parts.append(
            translate(
                "charts",
                "Padding follows the text, so no token attends to it, with or without the mask.",
            )
        )
    elif any(shares):
        text = translate(
            "charts",
            "Without it they shift by up to {0}, because padding receives {1} to {2} of the "
            "attention.",
        )
        change: float = max(state.unmasked for state in padding.states)
        ends = f"{min(shares):.0%}", f"{max(shares):.0%}"
        parts.append(text.format(number_text(change, 2), *ends))
    text = translate(
        "charts", "The vectors of padding are not zero: their norm is {0}, that of the others {1}."
    )
    parts.append(text.format(number_text(last.padded_norm, 3), number_text(last.norm, 3)))
    return " ".join(parts)


def _same(padding: Padding) -> str:
    most: float = max(state.masked for state in padding.states)
    if not padding.is_same:
        text = translate("charts", "Even with the mask {0} the text’s vectors change by up to {2}.")
    elif most == 0:
        text = translate("charts", "With the mask {0} the text’s vectors do not change.")
    else:
        text = translate(
            "charts",
            "With the mask {0} the text’s vectors do not change, apart from rounding ({1}).",
        )
    zeros = len(padding.tokens) - padding.count
    ones = count_text(padding.count, translate("charts", "1 one"), translate("charts", "{0} ones"))
    mask = count_text(
        zeros, translate("charts", "{1}, 1 zero"), translate("charts", "{1}, {0} zeros"), ones
    )
    return text.format(f"({mask})", number_text(most, 2), number_text(most, 2))
