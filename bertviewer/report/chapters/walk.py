"""The walk through the model, step by step."""

from collections.abc import Iterator

from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.walk.subtotal import subtotal
from bertviewer.core.walk.walk import WalkPart, WalkShape, WalkStep
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
from bertviewer.report.pictures import Drafted
from bertviewer.report.subject import Subject

_STEPS = "table:walk"


def walk(subject: Subject) -> Drafted:
    """Return the chapter."""
    found = subject.walk
    rows = [row for part in found.parts for row in _rows(part)]
    below = subtotal(found, subject.architecture)
    if below is not None:
        without = " and ".join(dict.fromkeys(f"the {part.what}" for part in below.on_top))
        name = f"Subtotal without {without}"
        said = ((), (name,), (), (), (), (f"{below.parameters:,}",))
        rows.append(Row(said, "total"))
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
    return Drafted(Section("walk", "The forward pass, step by step", (intro, table)))


def _rows(part: WalkPart) -> Iterator[Row]:
    times = f"{part.letters} = {part.times}" if part.letters else str(part.times)
    said: Text = (part.title, Letters(f" (of {times})" if part.times > 1 else ""))
    if not part.is_planned:
        said = (*said, " ", Muted("modules in the order of the module tree"))
    yield Row.of(said, (f"{part.trainable:,}", " ", Tick(part.reconciles)), look="head")
    for step in part.steps:
        yield Row.of(
            Muted(str(step.number)),
            (step.name,) if step.path is None else (step.name, Break(), Code(_paths(step))),
            _shape(step.input_shape),
            _shape(step.output_shape),
            _counted(step),
            () if step.is_input else (f"{step.count.trainable:,}",),
        )


def _paths(step: WalkStep) -> str:
    """Return a step's module; of several successive layers ``encoder.layer.1 … 5``."""
    numbers = [int(path.rpartition(".")[2]) for path in step.others]
    is_range = len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1
    if is_range and step.path == step.others[0]:
        return f"{step.path}\N{NO-BREAK SPACE}…\N{NO-BREAK SPACE}{numbers[-1]}"
    return step.path or ""


def _counted(step: WalkStep) -> Text:
    symbols, numbers = readable(step.count.symbols), readable(step.count.numbers)
    if step.values:
        return (step.values,)
    if symbols:
        return (Letters(symbols), Break(), Muted(numbers))
    return (numbers,) if numbers else ()


def _shape(shape: WalkShape | None) -> Text:
    """Return the shape in letters, and in numbers if that says more."""
    if shape is None:
        return ()
    letters, numbers = readable(shape.text), readable(shape.numbers)
    return (Letters(letters), *(() if letters == numbers else (Break(), Muted(numbers))))
