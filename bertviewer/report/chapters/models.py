"""Chapter that compares two models: configurations and relative changes of the tensors."""

from collections.abc import Iterator, Mapping, Sequence
from math import hypot, inf

from msgspec import Struct

from bertviewer.charts.change_grid import change_grid, tensor_cells
from bertviewer.core.comparison.comparison import ComparedTensor, Comparison
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.numbers import count_text, with_minus
from bertviewer.report.blocks import (
    Bar,
    Block,
    Code,
    Column,
    Paragraph,
    Row,
    Section,
    See,
    Strong,
    Table,
    Text,
)
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.summary import provenance, value_text
from bertviewer.report.tables import difference_text

_KEYS, _COUNTS, _CHANGED = "table:model-keys", "table:model-counts", "table:changed"
_MODULES, _KINDS, _GRID = "table:changed-modules", "table:changed-kinds", "figure:change"
MAX_TENSORS = 30


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
    sections = (_configuration(found, subject.architecture), _changes(found, pictures))
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
        See(_COUNTS),
        " counts the tensors by state.",
    )
    rows = []
    for state, count in found.counts.items():
        infos = [one.right or one.left for one in found.tensors if one.state == state]
        elements = sum(info.numel for info in infos if info is not None)
        if count:
            rows.append(Row.of(state, f"{count:,}", f"{elements:,}"))
    columns = (Column("State", share=1), Column("Tensors", "right"), Column("Elements", "right"))
    yield Table(columns, tuple(rows), _COUNTS, ("The tensors by state.",))


def _configuration(found: Comparison, architecture: Architecture) -> Section:
    """List the keys that differ, and those used by counting formulas."""
    other = {key.key: key for key in found.keys}
    symbols = [symbol.key for symbol in architecture.symbols if symbol.key not in other]
    both = [(key, value_text(architecture.config.get(key))) for key in symbols]
    rows = [
        Row.of(Strong(key.key), Code(value_text(key.left)), Code(value_text(key.right)))
        for key in found.keys
    ]
    rows += [Row.of(key, Code(value), Code(value)) for key, value in both]
    same = len(architecture.whole_config.keys() - other.keys())
    words: Text = (
        count_text(len(found.keys), "1 key differs, ", "{0} keys of the configurations differ, "),
        count_text(same, "1 key is identical. ", "{0} are identical. "),
        See(_KEYS),
        " lists those that differ, in bold, and those used by the counting formulas.",
    )
    if not found.keys:
        words = (
            count_text(
                same,
                "The configurations are identical (1 key). ",
                "The configurations are identical ({0} keys). ",
            ),
            "",
            See(_KEYS),
            " lists the keys used by the counting formulas.",
        )
    columns = (Column("Key", share=1), Column("Left", share=1), Column("Right", share=1))
    table = Table(columns, tuple(rows), _KEYS, ("The configurations of both models.",))
    blocks = (Paragraph(words), table) if rows else (Paragraph(words[:2]),)
    return Section("models-configuration", "Configurations", blocks)


def _changes(found: Comparison, pictures: Pictures) -> Section | None:
    """Show the relative changes by layer and by kind, and the largest ones."""
    compared = [one for one in found.tensors if one.change is not None]
    others = sorted((one for one in found.tensors if one.state != "same"), key=_size, reverse=True)
    blocks: list[Block] = []
    if compared:
        grid = change_grid(found, has_keys=False)
        places = tensor_cells([one.name for one in compared])
        blocks.append(
            Paragraph.of(
                See(_GRID),
                " shows the relative change of each tensor: the norm of the difference divided "
                "by the norm of the left tensor. ",
                See(_MODULES),
                " summarises it by layer, ",
                See(_KINDS),
                " by kind of tensor.",
            )
        )
        blocks.append(
            pictures.figure(
                "change",
                Picture(grid, height=min(720, 230 + 22 * len(grid.rows))),
                "Relative change of each kind of tensor in each layer, ‖Δ‖ / ‖left‖.",
                "A heat map of layers by kinds of tensor, coloured by relative change.",
            )
        )
        rows = {name: places.rows[row] for name, (row, _) in places.cells.items()}
        kinds = {name: places.columns[column] for name, (_, column) in places.cells.items()}
        for title, groups, name, caption in (
            ("Module", rows, _MODULES, "Relative change of the tensors by layer."),
            ("Kind", kinds, _KINDS, "Relative change by kind of tensor."),
        ):
            blocks.append(_table(title, _by_group(compared, groups), name, caption))
    if others:
        blocks += [
            Paragraph.of(See(_CHANGED), " lists the tensors that differ, largest change first."),
            _changed(others),
        ]
    elif not compared:
        return None
    return Section("models-tensors", "Changes in the tensors", tuple(blocks))


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
    rows = tuple(
        Row.of(
            Code(group or "(model)"),
            difference_text(one.relative),
            Bar((one.relative or 0.0) / most if most else 0.0),
            difference_text(one.max_abs),
            f"{one.changed / one.count:.2%}" if one.count else "–",
        )
        for group, one in groups.items()
    )
    columns = (
        Column(title, share=1),
        Column("‖Δ‖ / ‖left‖", "decimal"),
        Column(""),
        Column("Max |Δ|", "decimal"),
        Column("Changed", "decimal"),
    )
    return Table(columns, rows, name, (caption,))


def _changed(tensors: Sequence[ComparedTensor]) -> Table:
    columns = (
        Column("Tensor", share=1.4),
        Column("State"),
        Column("Shape"),
        Column("‖Δ‖ / ‖left‖", "decimal"),
        Column("Max |Δ|", "decimal"),
        Column("Changed", "right"),
    )
    rows = tuple(map(_tensor, tensors[:MAX_TENSORS]))
    caption = f"The tensors that differ ({len(rows):,} of {len(tensors):,})."
    return Table(columns, rows, _CHANGED, (caption,))


def _size(tensor: ComparedTensor) -> float:
    change = tensor.change
    return 0.0 if change is None or change.relative is None else change.relative


def _tensor(tensor: ComparedTensor) -> Row:
    change = tensor.change
    sides = (side for side in (tensor.left, tensor.right) if side is not None)
    shapes = " → ".join(dict.fromkeys(shape_text(side.shape) for side in sides))
    figures = (None, None) if change is None else (change.relative, change.max_abs)
    return Row.of(
        Code(tensor.name),
        tensor.state,
        shapes,
        *(difference_text(value) for value in figures),
        "–" if change is None else f"{change.count - change.equal:,}",
    )
