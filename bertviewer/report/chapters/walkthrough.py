"""Chapter with the forward pass, step by step."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from bertviewer.core.expressions.evaluation import names_in
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.util.text import joined
from bertviewer.core.walkthrough.counts import subtotal
from bertviewer.core.walkthrough.walkthrough import Section as StepSection
from bertviewer.core.walkthrough.walkthrough import Step, StepShape, Walkthrough
from bertviewer.report.blocks import (
    Break,
    Code,
    Column,
    Letters,
    Muted,
    Paragraph,
    Row,
    Section,
    See,
    Span,
    Table,
    Text,
    Tick,
)
from bertviewer.report.chapters.parameters import PARTS
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject

_Cell = TypeVar("_Cell")
_STEPS = "table:walk"
_TITLE = "The forward pass, step by step"


def walkthrough(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    found = subject.walkthrough
    has_shapes = any(step.output_shape for step in found.steps)
    shown: dict[str, set[str]] = {}
    rows = [row for section in found.sections for row in _rows(section, has_shapes, shown)]
    below = subtotal(found, subject.architecture)
    if below is not None:
        without = " and ".join(f"the {what}" for what in below.on_top)
        cells = _cells("", f"Subtotal without {without}", (), (), (), f"{below.parameters:,}")
        rows.append(Row(_chosen(cells, has_shapes), "total"))
    columns = (
        Column("", "right"),
        Column("Step", share=1.2),
        Column("Input"),
        Column("Output"),
        Column("Formula", share=1.2),
        Column("Trainable", "right"),
    )
    table = Table(_chosen(columns, has_shapes), tuple(rows), _STEPS, (f"{_TITLE}.",))
    intro = Paragraph(tuple(_intro(subject, found, has_shapes)))
    return ChapterDraft(Section("walk", _TITLE, (intro, table)))


def _intro(subject: Subject, found: Walkthrough, has_shapes: bool) -> Iterator[Span]:
    yield See(_STEPS)
    if all(section.is_executed for section in found.sections):
        yield " follows the data from the inputs to the output. "
    else:
        yield " lists the modules in the order of the module tree: the data flow is not known. "
    if any(section.kind == "others" for section in found.sections):
        yield "Identical layers are shown once. "
    inner = [each for step in found.steps for each in step.inner]
    if inner:
        yield (
            "The operations inside attention and feed-forward networks are indented where they "
            "first occur. "
        )
    if has_shapes:
        letters, values = _letters(found.steps), bindings(subject.architecture, subject.run)
        yield "Shapes are given for a batch of B"
        yield " sentences of S tokens" if "S" in letters else " inputs"
        yield Letters(" with S_d tokens in the decoder") if "S_d" in letters else ""
        names = _letters(inner) - letters
        sizes = [f"{name} = {values[name]:,}" for name in values if name in names]
        if sizes:
            yield Letters(f"; {joined(sizes)}")
        yield ". "
    yield "A tick marks a section whose steps add up to the actual number of its parameters"
    if found.expected and subject.has_chapter("parameters"):
        yield "; "
        yield See(PARTS)
        yield " gives the total"
    yield "."


def _letters(steps: Sequence[Step]) -> set[str]:
    """Return the symbols in the shapes of steps."""
    shapes = [shape for step in steps for shape in (step.input_shape, step.output_shape) if shape]
    dims = {dim for shape in shapes for dim in shape.text.strip("[]").split(", ")}
    return set().union(*(names_in(dim) for dim in dims if dim))


def _rows(section: StepSection, has_shapes: bool, shown: dict[str, set[str]]) -> Iterator[Row]:
    """Yield the rows of a section; ``shown`` has the inner steps so far, by the step's name."""
    times = f"{section.symbols} = {section.times}" if section.symbols else str(section.times)
    title: Text = (section.title, Letters(f" (of {times})" if section.times > 1 else ""))
    if section.path:
        title = (*title, " ", Code(section.path))
    yield Row.of(title, (f"{section.trainable:,}", " ", Tick(section.reconciles)), look="head")
    below = f"{section.path}." if section.path else ""
    for step in section.steps:
        number = "" if step.is_input else f"{step.count.trainable:,}"
        shapes = (_shape(each) for each in (step.input_shape, step.output_shape))
        cells = _cells(str(step.number), _name(step, below), *shapes, _counted(step), number)
        yield Row(_chosen(cells, has_shapes))
        known, names = shown.setdefault(step.name, set()), {inner.name for inner in step.inner}
        for inner in step.inner if not names <= known else ():
            number = f"{inner.count.trainable:,}" if inner.count.parameters else ""
            name = _name(inner, below, "\N{EM SPACE}")
            shapes = (_symbols(each) for each in (inner.input_shape, inner.output_shape))
            yield Row(_chosen(_cells("", name, *shapes, _counted(inner), number), has_shapes))
        known |= names


def _cells(number: str, name: str | Text, *cells: Text | str) -> tuple[Text, ...]:
    texts = (number, name, *cells)
    return tuple((text,) if isinstance(text, str) and text else tuple(text) for text in texts)


def _chosen(cells: tuple[_Cell, ...], has_shapes: bool) -> tuple[_Cell, ...]:
    """Return the cells of a row, without those of the shapes if there are none."""
    return cells if has_shapes else (*cells[:2], *cells[4:])


def _name(step: Step, below: str, indent: str = "") -> Text:
    """Return the name of a step, and its modules, one a line, relative to the layer."""
    lines: Text = (step.name, *(Code(at.removeprefix(below)) for at in step.locations))
    spans = tuple(span for line in lines for span in (Break(), indent, line))
    return tuple(span for span in spans[1:] if span != "")


def _counted(step: Step) -> Text:
    symbols, numbers = readable(step.count.symbols), readable(step.count.numbers)
    if step.values:
        return (step.values,)
    if symbols:
        return (Letters(symbols), Break(), Muted(numbers))
    return (numbers,) if numbers else ()


def _shape(shape: StepShape | None) -> Text:
    """Return a shape in symbols, and in numbers if they differ."""
    letters = _symbols(shape)
    numbers = "" if shape is None else readable(shape.numbers)
    return letters if letters in ((), (Letters(numbers),)) else (*letters, Break(), Muted(numbers))


def _symbols(shape: StepShape | None) -> Text:
    return () if shape is None else (Letters(readable(shape.text)),)
