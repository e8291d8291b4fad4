"""Where tensors stand in a table of layers and kinds: a row and a column for each name."""

from collections.abc import Sequence

from msgspec import Struct

from bertviewer.core.analysis.layers import layer_list


class TensorPlaces(Struct, frozen=True):
    """Rows are layers, and modules beside them; columns are what tensors are called in there.

    Attributes:
        rows: the paths of the modules.
        columns: names within them, as ``attention.self.query.weight``.
        row_labels, column_labels: both as short as they can be told apart.
        cells: row and column of each name.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    cells: dict[str, tuple[int, int]]


def tensor_places(names: Sequence[str]) -> TensorPlaces:
    """Return where each tensor stands; rows and columns are in the order of the names.

    A layer is what the first number in a name counts; layers of one stack stand together.
    """
    stacks = list(dict.fromkeys(filter(None, map(layer_list, names))))
    split = {name: _split(name, stacks) for name in names}
    firsts: dict[str, int] = {}
    for row, _ in split.values():
        firsts.setdefault(_group(row), len(firsts))
    rows = sorted(
        {row for row, _ in split.values()}, key=lambda row: (firsts[_group(row)], _number(row))
    )
    columns = list(dict.fromkeys(column for _, column in split.values()))
    row_at = {row: number for number, row in enumerate(rows)}
    column_at = {column: number for number, column in enumerate(columns)}
    return TensorPlaces(
        tuple(rows),
        tuple(columns),
        tuple(label.replace(".", " ") for label in _shortened(rows, layers=True)),
        tuple(_shortened(columns)),
        {name: (row_at[row], column_at[column]) for name, (row, column) in split.items()},
    )


def _split(name: str, stacks: Sequence[str]) -> tuple[str, str]:
    """Return the module whose row it is, and what the tensor is called in there."""
    parts = name.split(".")
    if stack := layer_list(name):
        length = stack.count(".") + 2
    else:
        # A module beside the layers: one step below what it has in common with them.
        length = 1 + max((_common(parts, other.split(".")) for other in stacks), default=0)
    length = min(length, len(parts) - 1)
    return ".".join(parts[:length]), ".".join(parts[length:])


def _common(parts: Sequence[str], others: Sequence[str]) -> int:
    pairs = zip(parts, others, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), len(others))


def _group(row: str) -> str:
    """Return what stands together: the layers of a stack, a module for itself."""
    head, _, number = row.rpartition(".")
    return head if number.isdecimal() else row


def _number(row: str) -> int:
    number = row.rpartition(".")[2]
    return int(number) if number.isdecimal() else 0


def _shortened(names: Sequence[str], *, layers: bool = False) -> list[str]:
    """Return the shortest end of each name that no other one has; of tensors two steps at least."""
    parts = [name.split(".") for name in names]
    counts: dict[tuple[str, ...], int] = {}
    for steps in parts:
        for length in range(1, len(steps) + 1):
            end = tuple(steps[-length:])
            counts[end] = counts.get(end, 0) + 1
    found = []
    for steps in parts:
        least = 1 if layers and not steps[-1].isdecimal() else 2
        lengths = range(min(least, len(steps)), len(steps) + 1)
        ends = (tuple(steps[-length:]) for length in lengths)
        found.append(".".join(next((end for end in ends if counts[end] == 1), steps)))
    return found
