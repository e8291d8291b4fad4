"""Tables and texts of sentence vectors and of padding."""

from collections.abc import Mapping

from msgspec.structs import replace

from bertviewer.charts.table import (
    EMPTY,
    DataTable,
    TableCell,
    TableColumn,
    number_cell,
    text_cell,
)
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.padding import PaddedAttention, Padding
from bertviewer.core.analysis.sentence_vectors import SentenceComparison
from bertviewer.core.util.numbers import count_text, number_text

_DIGITS = 3


def sentence_table(compared: SentenceComparison) -> DataTable:
    """Return the cosine of two sentences for each kind of vector, next to unrelated sentences."""
    columns = _columns(
        translate("charts", "Vector"),
        {
            "Cosine of the two sentences": translate("charts", "This pair"),
            "Mean cosine of unrelated sentences": translate("charts", "Unrelated"),
            "Minimum of unrelated sentences": translate("charts", "min"),
            "Maximum of unrelated sentences": translate("charts", "max"),
        },
    )
    rows = []
    for each in compared.poolings:
        last, others = each.last, each.last_unrelated
        values = (None,) * 3 if others is None else (others.mean, others.low, others.high)
        # A cosine above those of all unrelated sentences is meaningful.
        name = each.label if each.pooling == "cls" else translate("charts", each.label)
        if each.is_own:
            name = translate("charts", "{0} (this model’s own)").format(name)
        pair = replace(number_cell(last, _DIGITS), is_bold=each.is_above_unrelated)
        rows.append((text_cell(name), pair, *(number_cell(value, _DIGITS) for value in values)))
    return DataTable(columns, tuple(rows))


def _columns(first: str, numbers: Mapping[str, str]) -> tuple[TableColumn, ...]:
    """Return a column of texts, and those of numbers by their names in exports."""
    others = (TableColumn(title, "number", name) for name, title in numbers.items())
    return TableColumn(first), *others


def sentence_line(compared: SentenceComparison) -> str:
    """Return the explanation of the table."""
    count = len(compared.unrelated)
    text = translate(
        "charts",
        "Each sentence was run on its own, up to the last layer. “Unrelated” covers the {0} "
        "pairs of {1} plain sentences; only a higher cosine is meaningful.",
    )
    return text.format(count * (count - 1) // 2, count)


def padding_table(padding: Padding) -> DataTable:
    """Return the effect of padding on each hidden state, and the attention it gets per layer."""
    columns = _columns(
        translate("charts", "Layer"),
        {
            "Largest change with the mask": translate("charts", "Change: mask"),
            "Largest change without the mask": translate("charts", "no mask"),
            "Attention to padding with the mask": translate("charts", "Attention: mask"),
            "Attention to padding without the mask": translate("charts", "no mask"),
            "Mean norm of padding vectors": translate("charts", "‖h‖: padding"),
            "Mean norm of text vectors": translate("charts", "text"),
        },
    )
    # An attention leads to the hidden state after it.
    attentions = dict(enumerate(padding.attentions, 1))
    rows = []
    for number, state in enumerate(padding.states):
        name = str(number - 1) if number else translate("charts", "emb")
        changes = (number_cell(value, 2) for value in (state.masked, state.unmasked))
        norms = (number_cell(value, _DIGITS) for value in (state.padded_norm, state.norm))
        rows.append((text_cell(name), *changes, *_shares(attentions.get(number)), *norms))
    return DataTable(columns, tuple(rows))


def _shares(attention: PaddedAttention | None) -> tuple[TableCell, ...]:
    if attention is None:
        return EMPTY, EMPTY
    shares = attention.masked, attention.unmasked
    return tuple(TableCell(n, f"{n:.1%}" if n else "0", tip=repr(n)) for n in shares)


def padding_line(padding: Padding) -> str:
    """Return the effect of the attention mask in words, with the largest numbers."""
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
