"""Chapter on the steps inside a layer: code and values, or excerpts of modules' tensors."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isfinite

import numpy as np

from bertviewer.charts.labels import MAX_TOKEN, shortened, visible
from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.tensors.inside_layer import HEAD, InsideLayer, LayerStep
from bertviewer.core.tensors.reduction import Corner
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import lower_first
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    Listing,
    Muted,
    Paragraph,
    Row,
    Section,
    See,
    Table,
    Text,
)
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.run_details import ModuleExcerpts
from bertviewer.report.subject import Subject
from bertviewer.report.tables import exact, fixed
from bertviewer.report.words import separated

DOTS = "…"
MAX_LENGTH = 88
_STEPS = "table:steps"
_MAX_ROWS, _MAX_COLUMNS = 2, 4


def values(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` for a run that cannot be replayed."""
    run, inside = subject.run, subject.details.inside
    if run is None:
        return None
    if inside is not None:
        name = inside.path.rpartition(".")[2]
        title = f"Inside layer {name}" if name.isdecimal() else "Inside a layer"
        return ChapterDraft(Section("values", title, tuple(_inside(subject, run, inside))))
    if not subject.details.excerpts:
        return None
    intro = Paragraph.of(
        "The steps inside this model’s layers cannot be written as code, so the tables show the "
        "inputs and outputs of modules. Of each tensor, the first and last rows and columns are "
        "given; dots mark those omitted."
    )
    blocks = (intro, *_modules(subject.details.excerpts))
    return ChapterDraft(Section("values", "Inputs and outputs of modules", blocks))


def _inside(subject: Subject, run: ActivationRun, inside: InsideLayer) -> Iterator[Block]:
    kind = run.class_names[inside.path]
    yield Paragraph.of(
        "This chapter repeats the computation of ",
        Code(inside.path),
        f" ({kind}) in PyTorch, step by step. The first lines run the model on the tokens of the "
        "sentence",
        *(
            (" (", Code("folder"), " is the folder with its files)")
            if any("folder" in line for line in inside.setup)
            else (", where ", Code("model"), " is the open model in evaluation mode")
        ),
        " and take the input of the layer:",
    )
    yield Listing(inside.setup)
    yield Paragraph.of(
        "The lines below compute everything else from that input, one step after another. ",
        See(_STEPS),
        f" gives the values of this run: {_excerpt_text(inside)}.",
        *_state_text(subject, run, inside),
    )
    yield Listing(tuple(line for step in inside.steps[1:] for line in _code(step)))
    width = max(min(_MAX_COLUMNS, len(step.corner.columns)) for step in inside.steps)
    rows = tuple(row for step in inside.steps for row in _step_rows(step, width))
    columns = (
        Column("Step", share=1),
        Column("Name"),
        Column("Shape"),
        Column("Row"),
        *(Column(str(place), "decimal") for place in range(width)),
    )
    yield Table(columns, rows, _STEPS, ("The values of each step in this run.",))
    if subject.run is not None and subject.run.source.weights == "random":
        yield Paragraph.of(
            "The weights of this run are random, so the code gives these values only for the same "
            "weights.",
            look="note",
        )


def _excerpt_text(inside: InsideLayer) -> str:
    heads = ", of attention those of its first head" if any(s.is_head for s in inside.steps) else ""
    count = min(_MAX_ROWS, max(len(step.corner.rows) for step in inside.steps))
    rows = count_text(count, "the first row", "the first {0} rows")
    return f"{rows} and {_MAX_COLUMNS} columns of each result{heads}"


def _state_text(subject: Subject, run: ActivationRun, inside: InsideLayer) -> Text:
    """Say which hidden states of transformers the layer's input and output are."""
    last = len(run.state_paths) - 1
    states = [n for n, paths in enumerate(run.state_paths) if inside.path in paths]
    name = "hidden_states"
    if subject.architecture.is_encoder_decoder and run.state_paths:
        sides = [n for paths in run.state_paths for n, it in enumerate(paths) if it == inside.path]
        name = ("encoder_hidden_states", "decoder_hidden_states")[sides[0] if sides else 0]
    if not states:
        return ()
    # A layer that is applied several times, as in ALBERT, gives several states.
    code = Code(f"output.{name}[{states[0]}]")
    # XLNet's layers have the dimension of the tokens first, its hidden states that of the batch.
    is_swapped = len(shape := inside.steps[-1].corner.shape) == 3 and shape[0] > 1
    swapped = " with its first two dimensions swapped" if is_swapped else ""
    asked = Code("output_hidden_states=True")
    text: Text = (" With ", asked, f", the output of the layer{swapped} is ", code, ".")
    if states[0] == 1:
        text = (
            *text[:-1],
            ": index 0 is the input of the first layer, so the index of a layer’s output is one "
            "more than the number of the layer.",
        )
    final = run.state_paths[last]
    below = f"{inside.path}."
    if final and not any(_is_layer(path) or below.startswith(f"{path}.") for path in final):
        paths = separated([(Code(path),) for path in final], " and ")
        text = (
            *text,
            f" The last state, index {last}, is not the output of the last layer but of ",
            *paths,
            ".",
        )
    return text


def _is_layer(path: str) -> bool:
    return path.rpartition(".")[2].isdecimal()


def _code(step: LayerStep) -> Iterator[str]:
    *lines, last = step.code
    title = lower_first(step.title.removesuffix(HEAD))
    if not lines and len(f"{last}  # {title}") <= MAX_LENGTH:
        yield f"{last}  # {title}"
    else:
        yield f"# {title}"
        yield from step.code


def _step_rows(step: LayerStep, width: int) -> Iterator[Row]:
    """Yield the first rows of a result."""
    corner = step.corner
    first: tuple[Text, ...] = ((step.title,), (Code(step.name),), (Code(shape_text(corner.shape)),))
    for place in range(min(_MAX_ROWS, len(corner.rows))):
        found = corner.values[place, :width].tolist()
        cells = (step_value(value) for value in found)
        blank = ("",) * (width - len(found))
        yield Row.of(
            *(first if not place else ("", "", "")), _row_name(corner, place), *cells, *blank
        )


def step_value(value: float) -> str:
    """Return a value with four decimals."""
    return exact(value) if not isfinite(value) else fixed(value, 4)


def _modules(modules: Sequence[ModuleExcerpts]) -> Iterator[Block]:
    """Yield corners of tensors; those with the same columns share a table."""
    tables: dict[tuple[int, ...], list[Row]] = {}
    for titles, corner in _merged(modules):
        tables.setdefault(corner.columns, []).extend(_rows(titles, corner))
    for number, (columns, rows) in enumerate(tables.items()):
        caption = ("Inputs and outputs of modules; columns are features.",)
        name = f"table:values-{number}"
        yield Table(_columns("Token", columns), tuple(rows), name, caption)


def _merged(modules: Sequence[ModuleExcerpts]) -> list[tuple[Text, Corner]]:
    """Return corners with their titles; equal neighbours, an output and an input, share one."""
    found: list[tuple[dict[Text, None], Corner]] = []
    for module in modules:
        corners = module.corners
        if len(corners) > 1 and _are_same(corners[0][1], corners[1][1]):
            corners = corners[1:]  # of a dropout, for example
        for key, corner in corners:
            named: Text = () if key.name == "output" else (" (", Code(key.name), ")")
            side = "input" if key.side == "input" else "output"
            if not found or not _are_same(found[-1][1], corner):
                found.append(({}, corner))
                side = side.capitalize()
            found[-1][0].setdefault((f"{side} of {module.title}", *named))
    return [((*separated(titles, ", "), " "), corner) for titles, corner in found]


def _are_same(one: Corner, other: Corner) -> bool:
    return one.shape == other.shape and np.array_equal(one.values, other.values, equal_nan=True)


def _rows(title: Text, corner: Corner) -> Iterator[Row]:
    yield Row.of((*title, Muted(f"{shape_text(corner.shape)} {corner.dtype}")), look="head")
    before = -1
    for place, row in enumerate(corner.rows):
        if row != before + 1:
            yield Row.of(DOTS, *(DOTS for _ in _with_dots(corner.columns, corner.columns)))
        before = row
        texts = [cell_text(value) for value in corner.values[place].tolist()]
        yield Row.of(_row_name(corner, place), *map(str, _with_dots(texts, corner.columns)))


def _row_name(corner: Corner, place: int) -> str:
    """Return the index of a row, and its token if it is that of one: "2 bank"."""
    row, token = corner.rows[place], corner.tokens[place]
    return f"{row} {shortened(visible(token), MAX_TOKEN)}" if token else str(row)


def _columns(title: str, places: Sequence[int]) -> tuple[Column, ...]:
    heads = _with_dots(places, places)
    return (
        Column(title, share=1),
        *(Column(str(head), "center" if head == DOTS else "decimal") for head in heads),
    )


def _with_dots(cells: Sequence[str | int], places: Sequence[int]) -> list[str | int]:
    """Return cells with dots between places that are not adjacent."""
    found: list[str | int] = list(cells[:1])
    for cell, (before, place) in zip(cells[1:], pairwise(places), strict=True):
        found += [cell] if place == before + 1 else [DOTS, cell]
    return found
