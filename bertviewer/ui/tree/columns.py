"""Columns of the module tree: title, text and sort value of each, and the tooltips of cells."""

import re
from collections.abc import Callable
from math import prod

from msgspec import Struct

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.tree.rows import TreeItem

STATISTIC_DIGITS, CHANGE_DIGITS = 5, 3
"""Significant digits of a statistic and of a change."""
_DIGITS, _LONGEST_NUMBER = re.compile(r"\d+"), 20

SortKey = tuple[bool, float | str]
Value = float | str | None


class TreeColumn(Struct, frozen=True):
    """A column.

    Attributes:
        title: the heading, "" for the statistic that is shown.
        text: the text of a cell with all digits, "" where the value is unknown. It gets the row
            and the name of the shown statistic.
        value: what rows are sorted by, ``None`` where it is unknown.
        setting: the name in settings, "" if users can't choose the column.
        is_number: whether texts are right-aligned and never elided.
        is_descending: whether the first click sorts in descending order.
    """

    title: str
    text: Callable[[TreeItem, str], str]
    value: Callable[[TreeItem, str], Value]
    setting: str = ""
    is_number: bool = False
    is_descending: bool = False


def _macs_text(item: TreeItem, _statistic: str) -> str:
    macs = item.rows.figures.macs(item.row)
    return "" if macs is None else f"{macs:,}"


def _statistic_text(item: TreeItem, statistic: str) -> str:
    value = item.rows.figures.statistic(item.row, statistic)
    if value is None or isinstance(value, int):
        return "" if value is None else f"{value:,}"
    return with_minus(f"{value:#.{STATISTIC_DIGITS}g}")  # trailing zeros align the column


def _change_text(item: TreeItem, _statistic: str) -> str:
    change = item.rows.figures.change(item.row)
    return "" if change is None else number_text(change, CHANGE_DIGITS)


def _elements(shape: tuple[int, ...] | None) -> float | None:
    return None if shape is None else prod(shape)


COLUMNS = (
    TreeColumn(
        QT_TRANSLATE_NOOP("tree", "Module"),
        lambda item, _: item.row.label,
        lambda item, _: natural(item.row.label),
    ),
    TreeColumn(
        QT_TRANSLATE_NOOP("tree", "Class"),
        lambda item, _: item.row.class_label,
        lambda item, _: item.row.node.class_name.casefold(),
        "class",
    ),
    TreeColumn(
        QT_TRANSLATE_NOOP("tree", "Params"),
        lambda item, _: f"{item.row.parameters:,}",
        lambda item, _: item.row.parameters,
        "parameters",
        is_number=True,
        is_descending=True,
    ),
    TreeColumn(
        QT_TRANSLATE_NOOP("tree", "Share"),
        lambda item, _: f"{item.row.share:.2%}",
        lambda item, _: item.row.parameters,
        "share",
        is_number=True,
        is_descending=True,
    ),
    TreeColumn(
        QT_TRANSLATE_NOOP("tree", "Shape"),
        lambda item, _: shape_text(item.row.shape),
        lambda item, _: _elements(item.row.shape),
        "shape",
        is_descending=True,
    ),
    TreeColumn(
        QT_TRANSLATE_NOOP("tree", "Output shape"),
        lambda item, _: shape_text(item.rows.figures.output_shape(item.row)),
        lambda item, _: _elements(item.rows.figures.output_shape(item.row)),
        "output",
        is_descending=True,
    ),
    TreeColumn(
        QT_TRANSLATE_NOOP("tree", "Multiply-adds"),
        _macs_text,
        lambda item, _: item.rows.figures.macs(item.row),
        "macs",
        is_number=True,
        is_descending=True,
    ),
    TreeColumn(
        "",
        _statistic_text,
        lambda item, statistic: item.rows.figures.statistic(item.row, statistic),
        "statistic",
        is_number=True,
        is_descending=True,
    ),
    TreeColumn(
        QT_TRANSLATE_NOOP("tree", "Change"),
        _change_text,
        lambda item, _: item.rows.figures.change(item.row),
        is_number=True,
        is_descending=True,
    ),
)
MODULE, CLASS, PARAMETERS, SHARE, SHAPE, OUTPUT_SHAPE, MACS, STATISTIC, CHANGE = range(len(COLUMNS))
VISUAL_ORDER = (MODULE, CLASS, SHAPE, OUTPUT_SHAPE, MACS, STATISTIC, CHANGE, SHARE, PARAMETERS)


def column_title(column: int, statistic: str) -> str:
    """Return the translated heading of a column."""
    return statistic if column == STATISTIC else translate("tree", COLUMNS[column].title)


def shape_sizes(shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Return the sizes of a shape as texts, empty for ``None``."""
    return tuple(map(str, shape or ()))


def sizes_text(sizes: tuple[str, ...] | None) -> str:
    """Return sizes as ``384×384``, "" for ``None``."""
    return "×".join(sizes or ())


def cell_tip(item: TreeItem, column: int, statistic: str) -> str:
    """Return the tooltip of a cell; a name's summarizes the row."""
    row, figures = item.row, item.rows.figures
    count = translate("tree", "{0} parameters, {1} of the model")
    count = count.format(f"{row.parameters:,}", f"{row.share:.2%}")
    if column in (PARAMETERS, SHARE):
        return count
    output = figures.output_shape(row) or figures.output(row)
    shapes = [translate("tree", "weight {0}").format(shape_text(row.shape))] if row.shape else []
    if output is not None:
        shapes.append(translate("tree", "output {0}").format(shape_text(output)))
    if column in (SHAPE, OUTPUT_SHAPE):
        return "\n".join(shapes)
    if column == CHANGE and (change := figures.change(row)) is not None:
        text = translate("tree", "‖Δ‖ / ‖left‖ = {0} over all its tensors")
        return text.format(number_text(change))
    if column != MODULE:
        return COLUMNS[column].text(item, statistic)
    return "\n".join(filter(None, (item.key, row.class_label, count, *shapes)))


def sort_key(item: TreeItem, column: int, statistic: str, is_descending: bool) -> SortKey:
    """Return a sort key that puts unknown values last in either order."""
    value = COLUMNS[column].value(item, statistic)
    return (not is_descending, 0.0) if value is None else (is_descending, value)


def natural(name: str) -> str:
    """Return a sort key in natural order: ``2`` before ``10``."""
    return _DIGITS.sub(lambda found: found.group().zfill(_LONGEST_NUMBER), name.casefold())
