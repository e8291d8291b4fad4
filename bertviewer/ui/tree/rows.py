"""The rows of the module tree in one flat list, and which of them stand where. Without Qt."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field

from bertviewer.charts.theme import Part
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.ui.tree.figures import TreeFigures
from bertviewer.ui.tree.terms import TreeFilter

STATISTICS = {"zeros": "zero_fraction", "nan": "nan_count", "inf": "inf_count"}
"""What a filter calls statistics of a run that have longer names elsewhere."""

_NO_FILTER = TreeFilter()


class TreeItem(Struct):
    """A row in the flattened tree: its place, and the numbers of the rows around it.

    ``position`` and ``children`` are about the rows that the filter leaves.
    """

    row: TreeRow
    key: str
    parent: int
    depth: int
    text: str
    rows: "TreeRows"
    position: int = -1
    children: list[int] = field(default_factory=list)
    is_hit: bool = False
    part: Part | None = None  # not asked for yet

    @property
    def layer(self) -> int | None:
        """The number of the layer that it is in, the outermost number in its path."""
        parts = self.row.node.path.split(".")
        own = parts[:-1] if self.row.is_folded else parts
        return next((int(part) for part in own if part.isdecimal()), None)

    def written(self, key: str) -> str | None:
        """Return a text of the module, for a filter."""
        match key:
            case "class":
                return self.row.node.class_name
            case "name":
                return self.row.label
            case "path":
                return self.key
        return self.rows.part(self)

    def number(self, key: str) -> float | None:
        """Return a number of the module, for a filter."""
        match key:
            case "layer":
                return self.layer
            case "params":
                return self.row.parameters
            case "macs":
                return self.rows.figures.macs(self.row)
        return self.rows.figures.statistic(self.row, STATISTICS.get(key, key))

    def sizes(self, key: str) -> tuple[str, ...] | None:
        """Return the sizes of one of the module's shapes, for a filter."""
        if key == "output":
            return self.rows.figures.output(self.row)
        return None if self.row.shape is None else tuple(map(str, self.row.shape))

    def truth(self, key: str) -> bool | None:
        """Return what is so or not of the module, for a filter."""
        if key == "trained":
            return self.rows.figures.is_trained(self.row.node)
        return self.row.trainable > 0 if self.row.parameters else None


class TreeRows:
    """All rows of a tree by their numbers; the invisible root is number -1.

    A folded row has its member layers for children. A filter leaves the rows that fit it, which
    are its ``hits``, and all rows above them. An order puts siblings into another one.
    """

    def __init__(self, tree: TreeRow | None = None) -> None:
        self.figures = TreeFigures()
        self.items: list[TreeItem] = []
        self.looks: dict[tuple[object, ...], TreeItem] = {}  # one of all that look the same
        self.hits: tuple[int, ...] = ()
        self.module_count = 0
        self._top: list[int] = []
        if tree is not None:
            self._add(tree, -1, 0)
        self.numbers = {item.key: number for number, item in enumerate(self.items)}
        self.arrange()

    def below(self, number: int) -> list[int]:
        """Return the numbers of the rows that are shown directly below one."""
        return self._top if number < 0 else self.items[number].children

    def part(self, item: TreeItem) -> Part:
        """Return the part of the model that a row is."""
        from bertviewer.charts.parts import part_of

        if item.part is None:
            above = self.items[item.parent] if item.parent >= 0 else None
            node = item.row.node
            if above is None:
                item.part = part_of("", node.class_name)
            elif above.row.is_folded:
                item.part = self.part(above)
            else:
                item.part = part_of(
                    *(node.name, node.class_name, node.role, above.row.node.class_name),
                    self.part(above),
                )
        return item.part

    def arrange(self, wanted: TreeFilter = _NO_FILTER) -> None:
        """Put the rows that fit into their places, and those above them, as in the model."""
        fitting: Sequence[int] = range(len(self.items))
        for term in wanted.terms:
            fits = term.fits
            fitting = [number for number in fitting if fits(self.items[number])]
        self.hits = self._hits(fitting) if wanted.terms else ()
        for item in self.items:
            item.position, item.children, item.is_hit = -1, [], False
        for number in self.hits:
            self.items[number].is_hit = True
        self._top = []
        for number in self._with_rows_above(fitting) if wanted.terms else fitting:
            item = self.items[number]
            siblings = self.items[item.parent].children if item.parent >= 0 else self._top
            item.position = len(siblings)
            siblings.append(number)

    def in_order(self, numbers: Sequence[int]) -> list[int]:
        """Return rows from the top on, as they are shown."""
        found: list[int] = []
        wanted, waiting = set(numbers), list(reversed(self._top))
        while waiting:
            number = waiting.pop()
            if number in wanted:
                found.append(number)
            waiting += reversed(self.items[number].children)
        return found

    def _with_rows_above(self, numbers: Sequence[int]) -> list[int]:
        shown = [False] * len(self.items)
        for number in numbers:
            shown[number] = True
        # Rows stand after the ones that they are below.
        for number in range(len(self.items) - 1, 0, -1):
            if shown[number]:
                shown[self.items[number].parent] = True
        return [number for number, is_shown in enumerate(shown) if is_shown]

    def sort(self, order: Callable[[TreeItem], Any] | None, is_falling: bool = False) -> None:
        """Put the rows below each row in another order, or in that of the model."""
        items = self.items
        keys = range(len(items)) if order is None else list(map(order, items))
        for item in items:
            if item.children:
                item.children.sort(key=keys.__getitem__, reverse=is_falling)
                for position, number in enumerate(item.children):
                    items[number].position = position

    def _hits(self, fitting: Sequence[int]) -> tuple[int, ...]:
        """Return what fits, without folded rows that fit for their members' sake."""
        folded = {self.items[number].parent for number in fitting}
        return tuple(
            number
            for number in fitting
            if not self.items[number].row.is_folded or number not in folded
        )

    def _add(self, row: TreeRow, parent: int, depth: int) -> None:
        number, key, class_label = len(self.items), row.key, row.class_label
        text = f"{key} {class_label}".casefold()
        self.items.append(TreeItem(row, key, parent, depth, text, self))
        self.looks.setdefault((class_label, row.parameters, row.share, row.shape), self.items[-1])
        self.module_count += not row.members
        for child in row.members or row.children:
            self._add(child, number, depth + 1)
