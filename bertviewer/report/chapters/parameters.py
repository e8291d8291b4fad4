"""Chapter on parameters: parts, counting formulas, symbols and components."""

from collections.abc import Iterator

from msgspec.structs import replace

from bertviewer.charts.map.treemap import Area, areas_of
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import count_steps, readable
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.walkthrough.counts import count_components, relations_text, usual_relations
from bertviewer.report.blocks import (
    Bar,
    Block,
    Break,
    Code,
    Column,
    Letters,
    Maths,
    Muted,
    Paragraph,
    Row,
    Section,
    See,
    Strong,
    Sum,
    Table,
    Tick,
)
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.subject import Subject

_PARTS, _SYMBOLS, _GROUPS = "table:parts", "table:symbols", "table:groups"
_AREAS = "figure:areas"
MAX_AREAS = 1_500
"""More rectangles would be too small to see."""


def parameters(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    architecture = subject.architecture
    tree = fold(architecture)
    sections = (
        _counting((tree, *tree.children), architecture),
        _symbols(architecture),
        _groups(subject),
    )
    intro = Paragraph.of(
        See(_PARTS),
        " lists the parts with their parameter counts; in ",
        See(_AREAS),
        ", the area of each module is proportional to its count. A tied tensor is counted once, "
        "under its first name.",
    )
    area = areas_of(architecture, "parameters")
    if len(architecture.modules) > MAX_AREAS:
        area = _without_submodules(area)
    pictures = Pictures()
    figure = pictures.figure(
        "areas",
        Picture(area, height=300),
        f"The parameters of {tree.node.class_name}: areas are proportional to parameter counts.",
        "Nested rectangles, one per module, with areas proportional to parameter counts.",
    )
    blocks: tuple[Block, ...] = (
        intro,
        _parts(tree),
        figure,
        *subject.answers("parameters"),
    )
    found = tuple(filter(None, sections))
    return ChapterDraft(Section("parameters", "Parameters", blocks, found), pictures)


def _without_submodules(area: Area) -> Area:
    """Return the same with layers as single rectangles."""
    if area.is_layer:
        return replace(area, parts=())
    return replace(area, parts=tuple(map(_without_submodules, area.parts)))


def _parts(tree: TreeRow) -> Table:
    def row(part: TreeRow, is_whole: bool) -> Row:
        cells = (
            (Strong(part.label) if is_whole else Code(part.label),),
            (Code(part.class_label),),
            (f"{part.parameters:,}",),
            (f"{part.share:.2%}",),
            (Bar(part.share),),
        )
        return Row(cells, "total" if is_whole else "plain")

    return Table(
        (
            Column("Part"),
            Column("Class", share=1),
            Column("Parameters", "right"),
            Column("Share", "decimal"),
            Column(""),
        ),
        (*(row(part, False) for part in tree.children), row(tree, True)),
        _PARTS,
        ("The parts of the model and their share of all parameters.",),
    )


def _counting(rows: tuple[TreeRow, ...], architecture: Architecture) -> Section | None:
    sums = tuple(_sum(row, architecture) for row in rows if row.parameters)
    if not any(one.terms for one in sums):
        return None
    intro = Paragraph.of(
        "Each count is given first in symbols (",
        See(_SYMBOLS),
        "), then with the numbers substituted, then evaluated. A tick marks a result that equals "
        "the actual number of elements.",
    )
    return Section("counting", "Counting formulas", (intro, *sums))


def _sum(row: TreeRow, architecture: Architecture) -> Sum:
    steps = count_steps(row.node, architecture)
    if steps is None:
        return Sum(row.label, (), f"{row.parameters:,}", reason="no formula was found")
    return Sum.of(row.label, steps, f"{row.parameters:,}", is_proven=True)


def _symbols(architecture: Architecture) -> Section | None:
    rows = tuple(
        Row.of(Maths(symbol_maths(s.name)), Code(s.key), f"{s.value:,}", s.meaning)
        for s in architecture.symbols
    )
    if not rows:
        return None
    columns = (
        Column("Symbol"),
        Column("Configuration key"),
        Column("Value", "right"),
        Column("Meaning", share=1),
    )
    caption = ("The symbols of the counting formulas and their configuration keys.",)
    return Section("symbols", "Symbols", (Table(columns, rows, _SYMBOLS, caption),))


def symbol_maths(letter: str) -> str:
    """Return a symbol in Typst's notation; names of several letters are upright."""
    name, _, index = letter.partition("_")
    if "_" in index:  # a configuration key
        return f'"{letter}"'
    base = name if len(name) == 1 else f'"{name}"'
    return f'{base}_"{index}"' if index else base


def _groups(subject: Subject) -> Section:
    architecture = subject.architecture
    counts = count_components(
        subject.walkthrough, architecture, usual_relations(architecture.symbols)
    )
    relations = relations_text(counts.relations)
    here = f", where {relations}" if relations else ""
    rows = [
        Row.of(component.title, tuple(_lines(component.lines)), f"{component.parameters:,}")
        for component in counts.components
    ]
    total = (f"{counts.total:,}", " ", Tick(counts.reconciles))
    rows.append(Row.of("Total", f"{counts.tensors:,} tensors", total, look="total"))
    table = Table(
        (Column("Component"), Column("Formula", share=1), Column("Parameters", "right")),
        tuple(rows),
        _GROUPS,
        ("Parameter count by component.",),
    )
    intro = Paragraph.of(See(_GROUPS), f" adds up the tensors of each component, one by one{here}.")
    blocks: tuple[Block, ...] = (intro, table)
    return Section("groups", "Parameter count by component", blocks)


def _lines(lines: tuple[str, ...]) -> Iterator[str | Letters | Muted | Break]:
    if not lines:
        yield Muted("no formula was found")
    for place, line in enumerate(lines):
        if place:
            yield Break()
            yield "= "
        yield Letters(readable(line))
