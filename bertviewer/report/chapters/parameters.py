"""Chapter on parameters: the parts with their formulas, the total, the symbols, a treemap."""

from collections.abc import Iterator

from msgspec.structs import replace

from bertviewer.charts.map.treemap import Area, areas_of
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.count_steps import count_steps, readable
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.util.numbers import count_text, percent_text
from bertviewer.core.walkthrough.counts import (
    Component,
    count_components,
    relations_text,
    usual_relations,
)
from bertviewer.report.blocks import (
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
    Span,
    Sum,
    Table,
    Text,
    Tick,
)
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.subject import Subject

PARTS, SYMBOLS = "table:parts", "table:symbols"
MAX_AREAS = 1_500
"""More rectangles would be too small to see."""
_MAX_PATHS = 4
_AREAS = "figure:areas"


def parameters(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    architecture = subject.architecture
    tree = fold(architecture)
    pictures = Pictures()
    area = areas_of(architecture, "parameters")
    if len(architecture.modules) > MAX_AREAS:
        area = _without_submodules(area)
    figure = pictures.figure(
        "areas",
        Picture(area, height=300),
        f"The parameters of {tree.node.class_name}: areas are proportional to parameter counts.",
        "Nested rectangles, one per module, with areas proportional to parameter counts.",
    )
    blocks = (
        *_parts(subject, tree),
        *_counting(tree, architecture),
        *_symbols(architecture),
        figure,
        *subject.answers("parameters"),
    )
    return ChapterDraft(Section("parameters", "Parameters", blocks), pictures)


def _without_submodules(area: Area) -> Area:
    """Return the same with layers as single rectangles."""
    if area.is_layer:
        return replace(area, parts=())
    return replace(area, parts=tuple(map(_without_submodules, area.parts)))


def _parts(subject: Subject, tree: TreeRow) -> Iterator[Block]:
    """Yield the table of the parts and their sum; nothing for a model without parameters."""
    architecture, root = subject.architecture, tree.node
    if not root.parameters:
        yield Paragraph.of("The model has no parameters.")
        return
    counts = count_components(
        subject.walkthrough, architecture, usual_relations(architecture.symbols)
    )
    found = counts.components
    if len(found) < 2:  # the parts of an unknown structure are its modules
        found = tuple(
            Component(part.label, part.parameters, places=(part.node.path,))
            for part in tree.children
            if part.parameters
        )
    has_formulas = any(each.spelled for each in found)
    relations = relations_text(counts.relations)
    intro: list[Span] = [See(PARTS), " lists the parts of the model"]
    if has_formulas:
        intro.append(" and how their parameters are counted, tensor by tensor")
        intro.append(f", with {relations}. " if relations else ". ")
        if any(len(each.lines) > 1 for each in found):
            intro.append("A second line collects like terms. ")
    else:
        intro.append(". No counting formula was found. ")
    intro += [See(_AREAS), " shows how the parameters are distributed over the modules. "]
    yield Paragraph((*intro, _tied(architecture)))
    rows = [_part(each, root.parameters, has_formulas) for each in found]
    tensors = count_text(counts.tensors, "1 tensor", "{0} tensors")
    is_sum = sum(each.parameters for each in found) == root.parameters
    formula: tuple[Text, ...] = ((),) if has_formulas else ()
    total: Text = (f"{root.parameters:,}", " ", Tick(is_sum))
    rows.append(Row((("Total",), (tensors,), *formula, total, ("100.00%",)), "total"))
    columns = (
        Column("Part"),
        Column("Module", share=0 if has_formulas else 1),
        *([Column("Formula", share=1)] if has_formulas else ()),
        Column("Parameters", "right"),
        Column("Share", "decimal"),
    )
    yield Table(columns, tuple(rows), PARTS, ("The parts of the model.",))


def _part(part: Component, whole: int, has_formulas: bool) -> Row:
    paths = part.places[:_MAX_PATHS]
    module = tuple(span for path in paths for span in (Break(), Code(path)))[1:]
    more = (Break(), "…") if len(part.places) > _MAX_PATHS else ()
    formula = (tuple(_lines(part.lines)),) if has_formulas else ()
    count = (f"{part.parameters:,}",), (percent_text(part.parameters / whole, 2),)
    return Row(((part.title,), (*module, *more), *formula, *count))


def _tied(architecture: Architecture) -> str:
    """Return how tied tensors are counted; "" if there are none."""
    tied = [tensor for tensor in architecture.parameters if tensor.tied_to is not None]
    one, many = "1 tied tensor is", "{0} tied tensors are"
    return f"{count_text(len(tied), one, many)} counted once, under the first name." if tied else ""


def _lines(lines: tuple[str, ...]) -> Iterator[Span]:
    if not lines:
        yield Muted("no formula was found")
    for place, line in enumerate(lines):
        if place:
            yield Break()
            yield "= "
        yield Letters(readable(line))


def _counting(tree: TreeRow, architecture: Architecture) -> Iterator[Block]:
    steps = count_steps(tree.node, architecture)
    if steps is None:
        return
    yield Paragraph.of(
        "The formula of the whole model is derived independently, by rebuilding the model with "
        "other sizes: in the symbols of ",
        See(SYMBOLS),
        ", with the numbers substituted, and evaluated. The tick marks that it equals the actual "
        "number of parameters.",
    )
    yield Sum.of(tree.label, steps, f"{tree.parameters:,}", is_proven=True)


def _symbols(architecture: Architecture) -> Iterator[Block]:
    rows = tuple(
        Row.of(Maths(symbol_maths(s.name)), Code(s.key), f"{s.value:,}", s.meaning)
        for s in architecture.symbols
    )
    columns = (
        Column("Symbol"),
        Column("Configuration key"),
        Column("Value", "right"),
        Column("Meaning", share=1),
    )
    if rows:
        caption = ("The symbols of the counting formulas and their configuration keys.",)
        yield Table(columns, rows, SYMBOLS, caption)


def symbol_maths(letter: str) -> str:
    """Return a symbol in Typst's notation; names of several letters are upright."""
    name, _, index = letter.partition("_")
    if "_" in index:  # a configuration key
        return f'"{letter}"'
    base = name if len(name) == 1 else f'"{name}"'
    return f'{base}_"{index}"' if index else base
