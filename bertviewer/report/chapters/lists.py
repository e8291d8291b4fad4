"""Chapters with lists: the configuration, the modules and all parameters."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from bertviewer.charts.labels import tensors_text
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import ModuleNode, TensorInfo
from bertviewer.core.sources.config_keys import KEY_MEANINGS, effect_of
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    Muted,
    Paragraph,
    Row,
    Section,
    See,
    Span,
    Table,
    Text,
)
from bertviewer.report.chapters.parameters import SYMBOLS
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject
from bertviewer.report.words import separated

MAX_VALUE = 2_000
"""Characters of one value of the configuration; a thousand labels are cut."""

Group = tuple[str, tuple[TensorInfo, ...]]
"""Name and tensors of a layer, or of a part outside the layers."""

_KEYS, _MODULES, _TENSORS = "table:configuration", "table:modules", "table:tensors"


def configuration(subject: Subject) -> ChapterDraft:
    """Return the chapter with all configuration keys; only those that matter have a row."""
    architecture = subject.architecture
    config, unused = architecture.whole_config, architecture.unused
    sizes = {symbol.key for symbol in architecture.symbols}
    empty = [key for key, value in config.items() if key not in sizes and not _is_set(value)]
    known = sizes.union(empty)
    idle = [
        key
        for key in config
        if key not in known and effect_of(key, unused) and (key in unused or "drop" not in key)
    ]
    known.update(idle)
    rows = tuple(
        Row.of(Code(key), Code(_value(value)), KEY_MEANINGS.get(key, ""))
        for key, value in config.items()
        if key not in known
    )
    columns = (Column("Key"), Column("Value", share=1), Column("Meaning", share=3.5))
    blocks: list[Block] = []
    if rows:
        words = " lists the choices of the configuration, apart from the sizes."
        blocks.append(Paragraph.of(See(_KEYS), words))
        caption = ("Configuration keys, their values and meanings.",)
        blocks.append(Table(columns, rows, _KEYS, caption))
    described: Text = ("Sizes",)
    if subject.has_chapter("parameters"):
        described = ("Sizes, described in ", See(SYMBOLS))
    groups: tuple[tuple[Text, Iterable[str], bool], ...] = (
        (described, [key for key in config if key in sizes], True),
        (("Without effect on what this model computes",), idle, True),
        (("Null, false or empty",), empty, False),
    )
    for title, keys, has_values in groups:
        if keys:
            spans = _listed(keys, config if has_values else {})
            blocks.append(Paragraph((*title, ": ", *spans, ".")))
    return ChapterDraft(Section("configuration", "Configuration", tuple(blocks)))


def _is_set(value: object) -> bool:
    return value is not None and value is not False and value not in ("", [], {}, ())


def _listed(keys: Iterable[str], config: Mapping[str, Any]) -> Iterator[Span]:
    codes = (f"{key}={_value(config[key])}" if key in config else key for key in keys)
    return separated(((Code(code),) for code in codes), ", ")


def _value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    more = len(text) - MAX_VALUE
    end = count_text(more, " … and 1 more character", " … and {0} more characters")
    return text if more <= 0 else f"{text[:MAX_VALUE]}{end}"


def modules(subject: Subject) -> ChapterDraft:
    """Return the chapter with the module tree, as ``print(model)`` writes it."""
    architecture = subject.architecture
    if subject.is_folded:
        rows = tuple(_folded_rows(fold(architecture), 0))
    else:
        rows = tuple(_module_row(node, architecture) for node in architecture.modules)
    columns = (Column("Module", share=1), Column("Parameters", "right"))
    count = len(architecture.modules)
    intro = Paragraph.of(
        See(_MODULES),
        " shows the module tree as ",
        Code("print(model)"),
        count_text(count, " writes it", " writes it, with the parameters of all {0} modules"),
        ". Identical neighbouring layers are shown once." if len(rows) < count else ".",
    )
    table = Table(columns, rows, _MODULES, ("The modules and their settings.",))
    return ChapterDraft(Section("modules", "Modules", (intro, table)))


def _folded_rows(row: TreeRow, level: int) -> Iterator[Row]:
    text = _printed(row.node, is_leaf=not row.children)
    if row.is_folded:
        first, last = row.members[0].node.name, row.members[-1].node.name
        text = text.replace(f"({first}): ", f"({first}-{last}): {len(row.members)} x ", 1)
    count = f"{row.parameters:,}" if row.parameters else ""
    yield Row.of(Code(text), count, level=level)
    for child in row.children:
        yield from _folded_rows(child, level + 1)


def _module_row(node: ModuleNode, architecture: Architecture) -> Row:
    text = _printed(node, is_leaf=not architecture.children(node.path))
    return Row.of(Code(text), f"{node.parameters:,}" if node.parameters else "", level=node.depth)


def _printed(node: ModuleNode, *, is_leaf: bool) -> str:
    """Return the line of a module as ``print(model)`` writes it."""
    settings = f"({node.extra_repr})" if node.extra_repr or is_leaf else ""
    return f"{f'({node.name}): ' if node.path else ''}{node.class_name}{settings}"


def tensors(subject: Subject) -> ChapterDraft:
    """Return the chapter with all named parameters in groups."""
    architecture = subject.architecture
    count = len(architecture.parameters)
    dtypes = {architecture.stored_dtype(tensor) for tensor in architecture.parameters}
    groups = [*(_folded(architecture) if subject.is_folded else _groups(architecture))]
    rows = [row for group in groups for row in _group_rows(group, architecture, len(dtypes) > 1)]
    columns = (
        Column("Name", share=1),
        Column("Shape"),
        *([Column("Dtype")] if len(dtypes) > 1 else ()),
        Column("Elements", "right"),
    )
    intro = Paragraph.of(
        See(_TENSORS),
        count_text(
            count,
            " lists the only named parameter",
            " lists the {0} named parameters in order",
        ),
        f", all of dtype {', '.join(dtypes)}. " if len(dtypes) == 1 < count else ". ",
        "Tied parameters are listed but counted once. "
        if any(tensor.tied_to for tensor in architecture.parameters)
        else "",
        "Neighbouring layers with tensors of the same shapes are listed once."
        if any(len(group) > 1 for group in groups)
        else "",
    )
    table = Table(columns, tuple(rows), _TENSORS, ("The named parameters by group.",))
    return ChapterDraft(Section("tensors", "All parameters", (intro, table)))


def _groups(architecture: Architecture) -> Iterator[tuple[Group, ...]]:
    layers = filter(None, (_LAYER.match(tensor.name) for tensor in architecture.parameters))
    stacks = {found[1].partition(".")[0] for found in layers}
    for name, found in groupby(architecture.parameters, lambda tensor: _group_name(tensor, stacks)):
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


def _group_rows(
    groups: tuple[Group, ...], architecture: Architecture, has_dtypes: bool
) -> Iterator[Row]:
    """Yield the heading of identical groups and the tensors of the first one."""
    (name, listed), (last, _) = groups[0], groups[-1]
    title: Text = (Code(name), " ", Muted(tensors_text(listed)))
    if len(groups) > 1:
        each = f"{len(groups):,} × {tensors_text(listed)}"
        title = (Code(name), " to ", Code(last), " ", Muted(each))
    elements = sum(one.numel for _, found in groups for one in found if one.tied_to is None)
    yield Row.of(title, f"{elements:,}", look="head")
    for tensor in listed:
        tied = () if tensor.tied_to is None else (" ", Muted(f"tied to {tensor.tied_to}"))
        dtype = (architecture.stored_dtype(tensor),) if has_dtypes else ()
        cells = ((Code(tensor.name), *tied), shape_text(tensor.shape), *dtype, f"{tensor.numel:,}")
        yield Row.of(*cells, level=1)


_LAYER = re.compile(r"^(.*?\.\d+)\.")


def _group_name(tensor: TensorInfo, stacks: Collection[str]) -> str:
    """Return the layer of a tensor, or the part of the model, or of a stack, that it belongs to."""
    if found := _LAYER.match(tensor.name):
        return found[1]
    parts = tensor.name.split(".")
    return ".".join(parts[: min(2, len(parts) - 1)] if parts[0] in stacks else parts[:1])
