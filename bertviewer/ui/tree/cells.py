"""The columns of the module tree: what each says of a row, and how rows are ordered by it."""

import re

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.tree.rows import TreeItem

COLUMNS = 9
MODULE, CLASS, PARAMETERS, SHARE, SHAPE, OUTPUT_SHAPE, MACS, STATISTIC, CHANGE = range(COLUMNS)

ORDER = (MODULE, CLASS, SHAPE, OUTPUT_SHAPE, MACS, STATISTIC, CHANGE, SHARE, PARAMETERS)
"""From the left to the right."""
NUMBERS = (PARAMETERS, SHARE, MACS, STATISTIC, CHANGE)
"""Columns whose texts stand to the right, and are never cut."""
DIGITS, CHANGE_DIGITS = 5, 3
"""Of a statistic, and of a change."""
TIMES = "×"

_TITLES = (
    QT_TRANSLATE_NOOP("tree", "Module"),
    QT_TRANSLATE_NOOP("tree", "Class"),
    QT_TRANSLATE_NOOP("tree", "Params"),
    QT_TRANSLATE_NOOP("tree", "Share"),
    QT_TRANSLATE_NOOP("tree", "Shape"),
    QT_TRANSLATE_NOOP("tree", "Output shape"),
    QT_TRANSLATE_NOOP("tree", "Multiply-adds"),
    "",
    QT_TRANSLATE_NOOP("tree", "Change"),
)

_NUMBER, _LONGEST = re.compile(r"\d+"), 20

SortKey = tuple[bool, float | str]


def title(column: int, statistic: str) -> str:
    """Return what a column is called."""
    return statistic if column == STATISTIC else translate("tree", _TITLES[column])


def cell_text(item: TreeItem, column: int, statistic: str) -> str:
    """Return what a column says of a row, in all digits; nothing where nothing is known."""
    row, figures = item.row, item.rows.figures
    if column == MODULE:
        return row.label
    if column == CLASS:
        return row.class_label
    if column == PARAMETERS:
        return f"{row.parameters:,}"
    if column == SHARE:
        return f"{row.share:.2%}"
    if column == SHAPE:
        return shape_text(row.shape)
    if column == OUTPUT_SHAPE:
        return shape_text(figures.output_shape(row))
    if column == MACS:
        macs = figures.macs(row)
        return "" if macs is None else f"{macs:,}"
    if column == CHANGE:
        change = figures.change(row)
        return "" if change is None else number_text(change, CHANGE_DIGITS)
    value = figures.statistic(row, statistic)
    if value is None or isinstance(value, int):
        return "" if value is None else f"{value:,}"
    return with_minus(f"{value:#.{DIGITS}g}")  # with zeros at its end, to stand in line


def look(sizes: tuple[str, ...] | None) -> str:
    """Return sizes as ``384×384``, nothing for none."""
    return TIMES.join(sizes or ())


def sizes_of(shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Return a shape's sizes as texts, none for no shape."""
    return tuple(map(str, shape or ()))


def tip(item: TreeItem, column: int, statistic: str) -> str:
    """Return what is said over a cell; over a name all that other columns would say."""
    row, figures = item.row, item.rows.figures
    count = translate("tree", "{0} parameters, {1} of the model")
    count = count.format(f"{row.parameters:,}", f"{row.share:.2%}")
    if column in (PARAMETERS, SHARE):
        return count
    output = figures.output_shape(row)
    shapes = [translate("tree", "weight {0}").format(shape_text(row.shape))] if row.shape else []
    if output is not None or (sizes := figures.output(row)) is not None:
        sizes_text = shape_text(output) if output is not None else shape_text(sizes)
        shapes.append(translate("tree", "output {0}").format(sizes_text))
    if column in (SHAPE, OUTPUT_SHAPE):
        return "\n".join(shapes)
    if column == CHANGE and (change := figures.change(row)) is not None:
        told = translate("tree", "‖Δ‖ / ‖left‖ = {0} over all its tensors")
        return told.format(number_text(change))
    if column != MODULE:
        return cell_text(item, column, statistic)
    return "\n".join(filter(None, (item.key, row.class_label, count, *shapes)))


def sort_key(item: TreeItem, column: int, statistic: str, is_falling: bool) -> SortKey:
    """Return what rows are ordered by; those of which nothing is known stand below in any case."""
    row, figures = item.row, item.rows.figures
    value: float | str | None
    if column == MODULE:
        value = natural(row.label)
    elif column == CLASS:
        value = row.node.class_name.casefold()
    elif column in (PARAMETERS, SHARE):
        value = row.parameters
    elif column == SHAPE:
        value = _product(row.shape)
    elif column == OUTPUT_SHAPE:
        value = _product(figures.output_shape(row))
    elif column == MACS:
        value = figures.macs(row)
    elif column == CHANGE:
        value = figures.change(row)
    else:
        value = figures.statistic(row, statistic)
    if value is None:
        return (not is_falling, 0.0)
    return (is_falling, value)


def natural(name: str) -> str:
    """Return a text by which names stand as people count: ``2`` before ``10``."""
    return _NUMBER.sub(lambda found: found.group().zfill(_LONGEST), name.casefold())


def _product(shape: tuple[int, ...] | None) -> float | None:
    if shape is None:
        return None
    product = 1
    for size in shape:
        product *= size
    return product
