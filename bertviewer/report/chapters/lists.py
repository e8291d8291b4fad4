"""The lists at the end: the configuration, the modules, all parameters."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from bertviewer.charts.labels import tensors_text
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.sources.config_keys import KEY_MEANINGS, Effect, effect_of
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import (
    Code,
    Column,
    Maths,
    Muted,
    Paragraph,
    Row,
    Section,
    See,
    Table,
    Text,
)
from bertviewer.report.chapters.parameters import symbol_maths
from bertviewer.report.pictures import Drafted
from bertviewer.report.subject import Subject

_EFFECTS: Mapping[Effect, str] = {
    "": "",
    "unused": "no effect here",
    "none": "none",
}
MOST_SHOWN = 2_000
"""Characters of one value of a configuration, as of a thousand labels: it is no book."""

MOST_TENSORS = 1_000
"""Of models with more of them, layers that are alike are listed once."""

Group = tuple[str, tuple[TensorInfo, ...]]
"""A layer, or a part beside the layers, and its tensors."""

_KEYS, _MODULES, _TENSORS = "table:configuration", "table:modules", "table:tensors"


def configuration(subject: Subject) -> Drafted:
    """Return the chapter: every key with its symbol, its value, and what it means."""
    architecture = subject.architecture
    config = architecture.whole_config
    symbols = {symbol.key: symbol for symbol in architecture.symbols}
    rows = []
    unused = architecture.unused
    for key in sorted(config, key=lambda key: (key not in symbols, key not in unused)):
        symbol = symbols.get(key)
        value = json.dumps(config[key], ensure_ascii=False)
        rows.append(
            Row.of(
                Code(key),
                () if symbol is None else (Maths(symbol_maths(symbol.name)),),
                Code(_shortened(value)),
                _EFFECTS[effect_of(key, unused)],
                KEY_MEANINGS.get(key, "") if symbol is None else symbol.meaning,
            )
        )
    columns = (
        Column("Key", share=1),
        Column("Symbol"),
        Column("Value", share=0.75),
        Column("Effect"),
        Column("Meaning", share=1.6),
    )
    caption = (
        "The configuration; keys used by the counting formulas come first. Keys with the effect "
        "“none” do not affect any computation.",
    )
    table = Table(columns, tuple(rows), _KEYS, caption)
    return Drafted(Section("configuration", "Configuration", (table,)))


def modules(subject: Subject) -> Drafted:
    """Return the chapter: the tree of modules, equal layers folded into one row."""
    rows = tuple(_module_rows(fold(subject.architecture), 0))
    columns = (
        Column("Module", share=1.5),
        Column("Class", share=1.15),
        Column("Parameters", "right"),
        Column("Share", "decimal"),
        Column("Shape"),
    )
    caption = ("All modules; identical neighbouring layers share one row.",)
    return Drafted(Section("modules", "Modules", (Table(columns, rows, _MODULES, caption),)))


def _module_rows(row: TreeRow, level: int) -> Iterator[Row]:
    cells: tuple[Text, ...] = (
        (Code(row.label),),
        (Code(row.class_label),),
        (f"{row.parameters:,}",),
        (f"{row.share:.2%}",),
        (shape_text(row.shape),),
    )
    yield Row(cells, level=level)
    for child in row.children:
        yield from _module_rows(child, level + 1)


def tensors(subject: Subject) -> Drafted:
    """Return the chapter: every named parameter, in groups."""
    architecture = subject.architecture
    count = len(architecture.parameters)
    is_folded = count > MOST_TENSORS
    rows: list[Row] = []
    for groups in _alike(architecture) if is_folded else _each(architecture):
        rows += _group_rows(groups, architecture)
    columns = (
        Column("Name", share=1),
        Column("Shape"),
        Column("Dtype"),
        Column("Elements", "right"),
    )
    intro = Paragraph.of(
        See(_TENSORS),
        count_text(
            count,
            " lists the only named parameter.",
            " lists all {0} named parameters in order. Tied parameters are listed but counted "
            "once.",
        ),
        " Neighbouring layers with identical tensor shapes are listed once." if is_folded else "",
    )
    table = Table(columns, tuple(rows), _TENSORS, ("The named parameters by group.",))
    return Drafted(Section("tensors", "All parameters", (intro, table)))


def _each(architecture: Architecture) -> Iterator[tuple[Group, ...]]:
    for name, found in groupby(architecture.parameters, lambda one: _group(one, architecture)):
        yield ((name or architecture.root.class_name, tuple(found)),)


def _alike(architecture: Architecture) -> Iterator[tuple[Group, ...]]:
    """Yield groups together that have the same tensors under their own names."""

    def inside(group: Group) -> tuple[object, ...]:
        name, found = group
        return tuple(
            (one.name.removeprefix(name), one.shape, architecture.stored_dtype(one))
            for one in found
        )

    groups = (group for (group,) in _each(architecture))
    for _, found in groupby(groups, inside):
        yield tuple(found)


def _group_rows(groups: tuple[Group, ...], architecture: Architecture) -> Iterator[Row]:
    """Yield the head of some groups that are alike, and the tensors of the first."""
    (name, listed), (last, _) = groups[0], groups[-1]
    title: Text = (Code(name), " ", Muted(tensors_text(listed)))
    if len(groups) > 1:
        each = f"{len(groups):,} × {tensors_text(listed)}"
        title = (Code(name), " to ", Code(last), " ", Muted(each))
    elements = sum(one.numel for _, found in groups for one in found if one.tied_to is None)
    yield Row.of(title, f"{elements:,}", look="head")
    yield from (_tensor_row(one, architecture.stored_dtype(one)) for one in listed)


def _tensor_row(tensor: TensorInfo, dtype: str) -> Row:
    name: Text = (Code(tensor.name),)
    if tensor.tied_to is not None:
        name = (Code(tensor.name), " ", Muted(f"tied to {tensor.tied_to}"))
    return Row.of(name, shape_text(tensor.shape), dtype, f"{tensor.numel:,}", level=1)


_LAYER = re.compile(r"^(.*?\.\d+)\.")


def _group(tensor: TensorInfo, architecture: Architecture) -> str:
    """Return the layer that a tensor is in, and outside of layers the part of the model."""
    found = _LAYER.match(tensor.name)
    return found[1] if found else tensor.name.partition(".")[0]


def _shortened(value: str) -> str:
    more = len(value) - MOST_SHOWN
    end = count_text(more, " … and 1 more character", " … and {0} more characters")
    return value if more <= 0 else f"{value[:MOST_SHOWN]}{end}"
