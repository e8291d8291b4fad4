"""Chapter that compares two models: configurations and relative changes of the tensors."""

from collections.abc import Iterator, Mapping, Sequence
from math import hypot, inf

from msgspec import Struct

from bertviewer.charts.change_grid import change_grid, tensor_cells
from bertviewer.core.comparison.comparison import ComparedTensor, Comparison, State
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.util.numbers import count_text, percent_text, with_minus
from bertviewer.core.util.text import joined
from bertviewer.report.blocks import (
    Bar,
    Block,
    Code,
    Column,
    Paragraph,
    Row,
    Section,
    See,
    Span,
    Strong,
    Table,
)
from bertviewer.report.chapters.both_models import both_models
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.summary import provenance, value_text
from bertviewer.report.tables import column_texts

_KEYS, _CHANGED = "table:model-keys", "table:changed"
_MODULES, _KINDS, _GRID = "table:changed-modules", "table:changed-kinds", "figure:change"
MAX_TENSORS = 30
DIGITS = 4
"""Significant digits of the largest change of a column."""
_NO_RATIO = " A dash marks a change without a finite ratio to the left tensor, as from zeros."
_ALL, _NEARLY_ALL = "100.00%", percent_text(1 - 1e-9, 2)
_STATES: Mapping[State, tuple[str, str]] = {
    "changed": ("differs in value", "differ in value"),
    "other shape": ("differs in shape", "differ in shape"),
    "only left": ("exists only in the left model", "exist only in the left model"),
    "only right": ("exists only in the right model", "exist only in the right model"),
    "not compared": (
        "was not compared, as a model has no values for it",
        "were not compared, as a model has no values for them",
    ),
    "same": ("is identical", "are identical"),
}
"""What is said of one tensor in a state, and of several."""


class _Change(Struct, frozen=True):
    """The change of some tensors together."""

    relative: float | None
    max_abs: float | None
    changed: int
    count: int


def models(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` without a comparison."""
    found = subject.comparison
    if found is None:
        return None
    pictures = Pictures()
    blocks = tuple(_counts(found))
    sections = (both_models(subject), _configuration(found), _changes(found, pictures))
    inner = tuple(filter(None, sections))
    return ChapterDraft(Section("models", "Comparison of two models", blocks, inner), pictures)


def _counts(found: Comparison) -> Iterator[Block]:
    """Describe both models, and count their tensors by state."""
    for side, source in (("Left", found.left), ("Right", found.right)):
        yield Paragraph.of(Strong(side), f": {provenance(source)}.")
        yield from (Paragraph.of(notice, look="note") for notice in source.notices)
    difference = found.right_parameters - found.left_parameters
    yield Paragraph.of(
        f"The left model has {found.left_parameters:,} parameters, the right one "
        f"{found.right_parameters:,} ({with_minus(f'{difference:+,}')}). "
        if difference
        else count_text(
            found.left_parameters,
            "Both models have 1 parameter. ",
            "Both models have {0} parameters. ",
        ),
        *_states(found),
    )


def _states(found: Comparison) -> Iterator[str]:
    """Yield how many tensors differ, and in what."""
    counts = {state: count for state, count in found.counts.items() if count}
    if not counts:
        return
    parts = [f"{count:,} {_STATES[state][count > 1]}" for state, count in counts.items()]
    every = sum(counts.values())
    if len(parts) > 1:
        yield f"Of all {every:,} tensors, {joined(parts)}."
    elif every > 1:
        yield f"All {parts[0].replace(' ', ' tensors ', 1)}."
    else:
        yield f"The tensor {_STATES[next(iter(counts))][0]}."


def _configuration(found: Comparison) -> Section:
    """List the keys that differ."""
    if not found.keys:
        words = Paragraph.of("The configurations are identical.")
        return Section("models-configuration", "Configurations", (words,))
    rows = tuple(
        Row.of(Code(key.key), Code(value_text(key.left)), Code(value_text(key.right)))
        for key in found.keys
    )
    columns = (Column("Key", share=1), Column("Left", share=1), Column("Right", share=1))
    words = Paragraph.of(
        count_text(
            len(found.keys),
            "The configurations differ in 1 key",
            "The configurations differ in {0} keys",
        ),
        " (",
        See(_KEYS),
        "). All other keys are identical.",
    )
    caption = ("Configuration keys that differ; a dash stands for a missing key.",)
    return Section(
        "models-configuration", "Configurations", (words, Table(columns, rows, _KEYS, caption))
    )


def _changes(found: Comparison, pictures: Pictures) -> Section | None:
    """Show the relative changes by layer and by kind, and the largest ones."""
    compared = [one for one in found.tensors if one.change is not None]
    others = sorted((one for one in found.tensors if one.state != "same"), key=_size, reverse=True)
    blocks: list[Block] = []
    if any(one.state == "changed" for one in compared):
        grid = change_grid(found, has_keys=False)
        places = tensor_cells([one.name for one in compared])
        largest = max(compared, key=_size)
        rows = {name: places.rows[row] for name, (row, _) in places.cells.items()}
        kinds = {name: places.columns[column] for name, (_, column) in places.cells.items()}
        tables = [
            _table(title, changes, name, caption)
            for title, groups, name, caption in (
                ("Module", rows, _MODULES, "Relative change of the tensors by layer."),
                ("Kind", kinds, _KINDS, "Relative change by kind of tensor."),
            )
            if len(changes := _by_group(compared, groups)) > 1
        ]
        blocks.append(
            Paragraph.of(
                See(_GRID),
                " shows the relative change of each tensor: the norm of the difference divided "
                "by the norm of the left tensor. ",
                *_summaries([table.name for table in tables]),
            )
        )
        blocks.append(
            pictures.figure(
                "change",
                Picture(grid, height=min(720, 230 + 22 * len(grid.rows))),
                (
                    "Relative change ‖Δ‖ / ‖left‖ of each kind of tensor in each layer. ",
                    *(
                        ("The largest is that of ", Code(largest.name), f" ({change:.2g}).")
                        if (change := _size(largest))
                        else ()
                    ),
                ),
                "A heat map of layers by kinds of tensor, coloured by relative change.",
            )
        )
        blocks += tables
    if len(others) == 1:
        blocks.append(Paragraph.of("Only ", Code(others[0].name), " differs."))
    elif others:
        blocks += [
            Paragraph.of(See(_CHANGED), " lists the tensors that differ, largest change first."),
            _changed(others),
        ]
    return Section("models-tensors", "Changes in the tensors", tuple(blocks)) if blocks else None


def _summaries(names: Sequence[str]) -> Iterator[Span]:
    """Yield which tables summarise the changes."""
    if names:
        words = {_MODULES: " by layer", _KINDS: " by kind of tensor"}
        yield from (See(names[0]), " summarises it", words[names[0]])
        yield from (span for name in names[1:] for span in (" and ", See(name), words[name]))
        yield "."


def _by_group(
    tensors: Sequence[ComparedTensor], groups: Mapping[str, str]
) -> Mapping[str, _Change]:
    """Return the change of each group of tensors."""
    found: dict[str, list[ComparedTensor]] = {}
    for tensor in tensors:
        found.setdefault(groups[tensor.name], []).append(tensor)
    return {name: _together(each) for name, each in found.items()}


def _together(tensors: Sequence[ComparedTensor]) -> _Change:
    changes = [one.change for one in tensors if one.change is not None]
    # The sum of squares of large norms would overflow.
    moved = hypot(*(change.difference_norm for change in changes))
    norm = hypot(*(change.left_norm for change in changes))
    largest = [change.max_abs for change in changes if change.max_abs is not None]
    return _Change(
        moved / norm if 0 < norm < inf and moved < inf else None,
        max(largest, default=None),
        sum(change.count - change.equal for change in changes),
        sum(change.count for change in changes),
    )


def _table(title: str, groups: Mapping[str, _Change], name: str, caption: str) -> Table:
    most = max((one.relative or 0.0 for one in groups.values()), default=0.0)
    changed = [
        percent_text(one.changed / one.count, 2) if one.count else "–" for one in groups.values()
    ]
    if set(changed) == {_ALL, _NEARLY_ALL}:
        changed = [_NEARLY_ALL] * len(changed)
    columns: dict[Column, Sequence[Span]] = {
        Column(title, share=1): [Code(group or "(model)") for group in groups],
        Column("‖Δ‖ / ‖left‖", "decimal"): column_texts(
            [one.relative for one in groups.values()], DIGITS
        ),
        Column(""): [Bar((one.relative or 0.0) / most if most else 0.0) for one in groups.values()],
        Column("Max |Δ|", "decimal"): column_texts(
            [one.max_abs for one in groups.values()], DIGITS
        ),
        Column("Changed", "decimal"): changed,
    }
    if all(one.changed == one.count for one in groups.values()):
        caption += " All of their elements changed."
    elif len(set(changed)) == 1:
        caption += f" In each of them, {changed[0]} of the elements changed."
    if any(one.relative is None for one in groups.values()):
        caption += _NO_RATIO
    return _table_of(columns, name, caption)


def _changed(tensors: Sequence[ComparedTensor]) -> Table:
    shown = tensors[:MAX_TENSORS]
    changes = [one.change for one in shown]
    columns: dict[Column, Sequence[Span]] = {
        Column("Tensor", share=1.4): [Code(one.name) for one in shown],
        Column("State"): [one.state for one in shown],
        Column("Shape"): [_shape(one) for one in shown],
        Column("‖Δ‖ / ‖left‖", "decimal"): column_texts(
            [None if c is None else c.relative for c in changes], DIGITS
        ),
        Column("Max |Δ|", "decimal"): column_texts(
            [None if c is None else c.max_abs for c in changes], DIGITS
        ),
        Column("Changed", "right"): [
            "–" if c is None else f"{c.count - c.equal:,}" for c in changes
        ],
    }
    every = len(tensors)
    caption = f"The {len(shown)} largest changes of {every:,}." if every > len(shown) else ""
    caption = caption or "The tensors that differ."
    if any(change is not None and change.relative is None for change in changes):
        caption += _NO_RATIO
    return _table_of(columns, _CHANGED, caption)


def _table_of(columns: Mapping[Column, Sequence[Span]], name: str, caption: str) -> Table:
    """Return a table without columns in which all cells are equal."""
    shown = {column: cells for column, cells in columns.items() if len(set(cells)) > 1}
    rows = tuple(Row.of(*cells) for cells in zip(*shown.values(), strict=True))
    return Table(tuple(shown), rows, name, (caption,))


def _shape(tensor: ComparedTensor) -> str:
    sides = (side for side in (tensor.left, tensor.right) if side is not None)
    return " → ".join(dict.fromkeys(shape_text(side.shape) for side in sides))


def _size(tensor: ComparedTensor) -> float:
    change = tensor.change
    return 0.0 if change is None or change.relative is None else change.relative
