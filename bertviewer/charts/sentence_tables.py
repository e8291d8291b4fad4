"""Tables and texts of sentence vectors and of padding."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from bertviewer.charts.table import (
    EMPTY,
    DataTable,
    Field,
    TableCell,
    TableColumn,
    data_table,
    field,
    number_cell,
    text_cell,
)
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.padding import Padding
from bertviewer.core.analysis.sentence_vectors import PooledCosines, SentenceComparison
from bertviewer.core.util.numbers import count_text, number_text

_DIGITS = 3


def sentence_table(compared: SentenceComparison) -> DataTable:
    """Return the cosine of two sentences for each kind of vector, next to unrelated sentences."""

    def cosine(each: PooledCosines) -> TableCell:
        # A cosine above those of all unrelated sentences is meaningful.
        unrelated, last = each.last_unrelated, each.last
        is_above = unrelated is not None and last is not None and last > unrelated.high
        return replace(number_cell(last, _DIGITS), is_bold=is_above)

    def unrelated(each: PooledCosines) -> Iterable[TableCell]:
        found = each.last_unrelated
        if found is None:
            return (EMPTY,) * 3
        return (number_cell(one, _DIGITS) for one in (found.mean, found.low, found.high))

    def name(each: PooledCosines) -> TableCell:
        is_cls = each.pooling == "cls"
        return text_cell(each.label if is_cls else translate("charts", each.label))

    columns = [
        TableColumn(
            translate("charts", "Unrelated"), "number", "Mean cosine of unrelated sentences"
        ),
        TableColumn(translate("charts", "min"), "number", "Minimum of unrelated sentences"),
        TableColumn(translate("charts", "max"), "number", "Maximum of unrelated sentences"),
    ]
    fields = [
        field(translate("charts", "Vector"), name),
        field(translate("charts", "This pair"), cosine, "number", "Cosine of the two sentences"),
        Field(columns, unrelated),
    ]
    return data_table(fields, compared.poolings)


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
    # An attention leads to the hidden state after it.
    attentions = dict(enumerate(padding.attentions, 1))

    def layer(place: int) -> TableCell:
        return text_cell(str(place - 1) if place else translate("charts", "emb"))

    def state(attribute: str, digits: int) -> Callable[[int], TableCell]:
        return lambda place: number_cell(getattr(padding.states[place], attribute), digits)

    def share(attribute: str) -> Callable[[int], TableCell]:
        def cell(place: int) -> TableCell:
            if place not in attentions:
                return EMPTY
            found: float = getattr(attentions[place], attribute)
            return TableCell(found, f"{found:.1%}" if found else "0", tip=repr(found))

        return cell

    no_mask = translate("charts", "no mask")
    columns: list[tuple[str, Callable[[int], TableCell], str]] = [
        (
            translate("charts", "Change: mask"),
            state("masked", 2),
            "Largest change with the mask",
        ),
        (no_mask, state("unmasked", 2), "Largest change without the mask"),
        (
            translate("charts", "Attention: mask"),
            share("masked"),
            "Attention to padding with the mask",
        ),
        (no_mask, share("unmasked"), "Attention to padding without the mask"),
        (
            translate("charts", "‖h‖: padding"),
            state("padded_norm", _DIGITS),
            "Mean norm of padding vectors",
        ),
        (translate("charts", "text"), state("norm", _DIGITS), "Mean norm of text vectors"),
    ]
    fields = [field(title, cell, "number", name) for title, cell, name in columns]
    layers = field(translate("charts", "Layer"), layer)
    return data_table([layers, *fields], range(len(padding.states)))


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
