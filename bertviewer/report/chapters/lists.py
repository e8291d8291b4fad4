"""Chapters with lists: the configuration, the modules and all parameters."""

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
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject

_EFFECTS: Mapping[Effect, str] = {
    "": "",
    "unused": "no effect here",
    "none": "none",
}
MAX_VALUE = 2_000
"""Characters of one value of the configuration; a thousand labels are cut."""

MAX_TENSORS = 1_000
"""In models with more parameters, identical layers are listed once."""

Group = tuple[str, tuple[TensorInfo, ...]]
"""Name and tensors of a layer, or of a part outside the layers."""

_KEYS, _MODULES, _TENSORS = "table:configuration", "table:modules", "table:tensors"


def configuration(subject: Subject) -> ChapterDraft:
    """Return the chapter with all configuration keys, symbols, values and meanings."""
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
    return ChapterDraft(Section("configuration", "Configuration", (table,)))


def modules(subject: Subject) -> ChapterDraft:
    """Return the chapter with the module tree; identical layers share a row."""
    rows = tuple(_module_rows(fold(subject.architecture), 0))
    columns = (
        Column("Module", share=1.5),
        Column("Class", share=1.15),
        Column("Parameters", "right"),
        Column("Share", "decimal"),
        Column("Shape"),
    )
    caption = ("All modules; identical neighbouring layers share one row.",)
    return ChapterDraft(Section("modules", "Modules", (Table(columns, rows, _MODULES, caption),)))


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


def tensors(subject: Subject) -> ChapterDraft:
    """Return the chapter with all named parameters in groups."""
    architecture = subject.architecture
    count = len(architecture.parameters)
    is_folded = count > MAX_TENSORS
    rows: list[Row] = []
    for groups in _folded(architecture) if is_folded else _groups(architecture):
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
    return ChapterDraft(Section("tensors", "All parameters", (intro, table)))


def _groups(architecture: Architecture) -> Iterator[tuple[Group, ...]]:
    for name, found in groupby(architecture.parameters, _group_name):
        yield ((name or architecture.root.class_name, tuple(found)),)


def _folded(architecture: Architecture) -> Iterator[tuple[Group, ...]]:
    """Yield neighbouring groups with identical tensors together."""

    def inside(group: Group) -> tuple[object, ...]:
        name, found = group
        return tuple(
            (one.name.removeprefix(name), one.shape, architecture.stored_dtype(one))
            for one in found
        )

    groups = (group for (group,) in _groups(architecture))
    for _, found in groupby(groups, inside):
        yield tuple(found)


def _group_rows(groups: tuple[Group, ...], architecture: Architecture) -> Iterator[Row]:
    """Yield the heading of identical groups and the tensors of the first one."""
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


def _group_name(tensor: TensorInfo) -> str:
    """Return the layer of a tensor, or the part of the model that it belongs to."""
    found = _LAYER.match(tensor.name)
    return found[1] if found else tensor.name.partition(".")[0]


def _shortened(value: str) -> str:
    more = len(value) - MAX_VALUE
    end = count_text(more, " … and 1 more character", " … and {0} more characters")
    return value if more <= 0 else f"{value[:MAX_VALUE]}{end}"
