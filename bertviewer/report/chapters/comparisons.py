"""Two runs side by side, and two models."""

from collections.abc import Iterator, Sequence

from bertviewer.charts.change_grid import change_grid
from bertviewer.charts.layers import layer_chart
from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.statistics import STATISTIC_NAMES, figure
from bertviewer.core.comparing.comparison import ComparedTensor, Comparison
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.text.numerals import with_minus
from bertviewer.report.blocks import (
    Block,
    Break,
    Code,
    Column,
    Figure,
    Paragraph,
    Row,
    Section,
    See,
    Strong,
    Table,
)
from bertviewer.report.comparison_text import value_text
from bertviewer.report.pictures import Drafted, Picture
from bertviewer.report.subject import Subject
from bertviewer.report.summaries import deviation, exact, provenance

_RUNS, _KEYS, _CHANGED = "table:runs", "table:changed-keys", "table:changed"
_GRID = "figure:change"
MOST_TENSORS = 60


def runs(subject: Subject) -> Drafted | None:
    """Return the chapter on run B beside run A; ``None`` where no run is kept as A."""
    b, a = subject.run, subject.other
    if b is None or a is None:
        return None
    b_lines = layer_chart(subject.architecture, b, subject.statistic).lines
    a_lines = layer_chart(subject.architecture, a, subject.statistic).lines
    rows: list[Row] = []
    for mine, other in zip(b_lines, a_lines, strict=False):
        if len(b_lines) > 1:
            rows.append(Row(((Code(mine.label),),), "head"))
        for layer, (left, right) in enumerate(zip(other.values, mine.values, strict=False)):
            less = None if left is None or right is None else right - left
            rows.append(Row(((str(layer),), *((exact(v),) for v in (left, right, less)))))
    columns = (
        Column("Layer", "right"),
        Column("A", "decimal", 1),
        Column("B", "decimal", 1),
        Column("B − A", "decimal", 1),
    )
    blocks: tuple[Block, ...] = (
        Paragraph((Strong("A"), " ", *_said(a)), "quote"),
        Paragraph((Strong("B"), " ", *_said(b)), "quote"),
        Paragraph((See(_RUNS), f" has the {subject.statistic} of each layer's output in both.")),
        Table(columns, tuple(rows), _RUNS, (f"The {subject.statistic} of both runs.",)),
        *_outputs(a, b),
    )
    return Drafted(Section("runs", "Two runs", blocks))


def _said(run: ActivationRun) -> tuple[str | Break, ...]:
    pair = run.sentence.pair
    return (run.sentence.text,) if pair is None else (run.sentence.text, Break(), pair)


def _outputs(a: ActivationRun, b: ActivationRun) -> Iterator[Block]:
    rows = []
    for name in STATISTIC_NAMES:
        left, right = (figure(run.modules[0].statistics, name) for run in (a, b))
        less = None if left is None or right is None else right - left
        rows.append(Row(((name,), *((exact(v),) for v in (left, right, less)))))
    columns = (
        Column("Output of the model", share=1),
        Column("A", "decimal"),
        Column("B", "decimal"),
        Column("B − A", "decimal"),
    )
    yield Table(columns, tuple(rows), "table:runs-output", ("The model's output in both runs.",))


def models(subject: Subject) -> Drafted | None:
    """Return the chapter on the model beside another one; ``None`` where there is none."""
    found = subject.comparison
    if found is None:
        return None
    pictures: dict[str, Picture] = {}
    blocks = tuple(_blocks(found, pictures))
    return Drafted(Section("models", "Two models", blocks), pictures)


def _blocks(found: Comparison, pictures: dict[str, Picture]) -> Iterator[Block]:
    counts = ", ".join(f"{count:,} {state}" for state, count in found.counts.items() if count)
    yield Paragraph((Strong("Left"), f": {provenance(found.left)}, {found.left_parameters:,}."))
    yield Paragraph((Strong("Right"), f": {provenance(found.right)}, {found.right_parameters:,}."))
    yield Paragraph((f"Tensors: {counts}.",))
    if found.keys:
        yield _keys(found)
    if any(one.change is not None for one in found.tensors):
        grid = change_grid(found, has_places=False)
        pictures["change"] = Picture(grid, height=min(720, 230 + 22 * len(grid.rows)))
        yield Figure(
            "change",
            _GRID,
            ("How far each kind of tensor moved in each layer: ‖Δ‖ / ‖left‖.",),
            "A grid of layers by kinds of tensor, coloured by how far they moved.",
        )
    others = sorted((one for one in found.tensors if one.state != "same"), key=_size, reverse=True)
    if others:
        yield _changed(others)


def _keys(found: Comparison) -> Table:
    rows = tuple(
        Row(((Code(key.key),), (Code(value_text(key.left)),), (Code(value_text(key.right)),)))
        for key in found.keys
    )
    columns = (Column("Key", share=1), Column("Left", share=1), Column("Right", share=1))
    return Table(columns, rows, _KEYS, ("Keys of the configuration that differ.",))


def _changed(tensors: Sequence[ComparedTensor]) -> Table:
    columns = (
        Column("Tensor", share=1.4),
        Column("State"),
        Column("Shape"),
        Column("‖Δ‖ / ‖left‖", "decimal"),
        Column("Max |Δ|", "decimal"),
    )
    rows = tuple(map(_tensor, tensors[:MOST_TENSORS]))
    caption = (
        "The tensors that differ, those that moved farthest first "
        f"({len(rows):,} of {len(tensors):,})."
    )
    return Table(columns, rows, _CHANGED, (caption,))


def _size(tensor: ComparedTensor) -> float:
    change = tensor.change
    return 0.0 if change is None or change.relative is None else change.relative


def _tensor(tensor: ComparedTensor) -> Row:
    info, change = tensor.left or tensor.right, tensor.change
    figures = (None, None) if change is None else (change.relative, change.max_abs)
    return Row(
        (
            (Code(tensor.name),),
            (tensor.state,),
            ("" if info is None else shape_text(info.shape),),
            *((with_minus(deviation(value)),) for value in figures),
        )
    )
