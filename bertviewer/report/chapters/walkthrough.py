"""Chapter with the forward pass, step by step."""

from collections.abc import Iterator

from bertviewer.core.schema.count_steps import readable
from bertviewer.core.walkthrough.counts import subtotal
from bertviewer.core.walkthrough.walkthrough import Section as StepSection
from bertviewer.core.walkthrough.walkthrough import Step, StepShape
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
    Table,
    Text,
    Tick,
)
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject

_STEPS = "table:walk"


def walkthrough(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    found = subject.walkthrough
    rows = [row for section in found.sections for row in _rows(section)]
    below = subtotal(found, subject.architecture)
    if below is not None:
        without = " and ".join(f"the {what}" for what in below.on_top)
        name = f"Subtotal without {without}"
        cells = ((), (name,), (), (), (), (f"{below.parameters:,}",))
        rows.append(Row(cells, "total"))
    total = ((), ("Total",), (), (), (), (f"{found.trainable:,}", " ", Tick(found.reconciles)))
    rows.append(Row(total, "total"))
    columns = (
        Column("", "right"),
        Column("Step", share=1.2),
        Column("Input"),
        Column("Output"),
        Column("Formula", share=1.2),
        Column("Trainable", "right"),
    )
    intro = Paragraph.of(
        See(_STEPS),
        " follows the data from the inputs to the output: the input, output and learned "
        "parameters of each step. One layer represents all identical ones. Shapes are given for "
        "B sentences of S tokens.",
    )
    table = Table(columns, tuple(rows), _STEPS, ("The forward pass, step by step.",))
    return ChapterDraft(Section("walk", "The forward pass, step by step", (intro, table)))


def _rows(section: StepSection) -> Iterator[Row]:
    times = f"{section.symbols} = {section.times}" if section.symbols else str(section.times)
    title: Text = (section.title, Letters(f" (of {times})" if section.times > 1 else ""))
    if not section.is_executed:
        title = (*title, " ", Muted("modules in the order of the module tree"))
    yield Row.of(title, (f"{section.trainable:,}", " ", Tick(section.reconciles)), look="head")
    for step in section.steps:
        yield Row.of(
            Muted(str(step.number)),
            (step.name, *(part for at in step.locations for part in (Break(), Code(at)))),
            _shape(step.input_shape),
            _shape(step.output_shape),
            _counted(step),
            () if step.is_input else (f"{step.count.trainable:,}",),
        )


def _counted(step: Step) -> Text:
    symbols, numbers = readable(step.count.symbols), readable(step.count.numbers)
    if step.values:
        return (step.values,)
    if symbols:
        return (Letters(symbols), Break(), Muted(numbers))
    return (numbers,) if numbers else ()


def _shape(shape: StepShape | None) -> Text:
    """Return a shape in symbols, and in numbers if they differ."""
    if shape is None:
        return ()
    letters, numbers = readable(shape.text), readable(shape.numbers)
    return (Letters(letters), *(() if letters == numbers else (Break(), Muted(numbers))))
