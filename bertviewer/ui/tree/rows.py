"""Rows of the module tree in one flat list, and which of them are shown in what order. No Qt."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field

from bertviewer.charts.theme import Part
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.ui.tree.figures import TreeFigures

Matcher = Callable[["TreeItem"], bool]


class TreeItem(Struct):
    """A row of the flattened tree.

    Attributes:
        row: the module or the folded modules.
        key: the row's unique name.
        parent: the index of the row above, -1 for the root.
        depth: 0 for the root.
        text: path and class, case-folded.
        rows: the tree.
        position: the place among the shown siblings, -1 if a filter hides the row.
        children: the indices of the shown rows directly below.
        is_hit: whether the row matches the filter itself.
        part: cache of ``TreeRows.part``.
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
    part: Part | None = None

    @property
    def layer(self) -> int | None:
        """The number of the layer that contains the module: the first number in its path."""
        parts = self.row.node.path.split(".")
        own = parts[:-1] if self.row.is_folded else parts
        return next((int(part) for part in own if part.isdecimal()), None)


class TreeRows:
    """All rows of a tree by index; the invisible root has index -1.

    The children of a folded row are its members. A filter leaves the rows that match it, which are
    its ``hits`` from the top down, and their ancestors.
    """

    def __init__(self, tree: TreeRow | None = None) -> None:
        self.figures = TreeFigures()
        self.items: list[TreeItem] = []
        self.looks: dict[tuple[object, ...], TreeItem] = {}
        """One row for each combination of texts that don't depend on a run."""
        self.hits: tuple[int, ...] = ()
        self.module_count = 0
        self._top: list[int] = []
        if tree is not None:
            self._add(tree, -1, 0)
        self.numbers = {item.key: number for number, item in enumerate(self.items)}
        self.arrange()

    def below(self, number: int) -> list[int]:
        """Return the indices of the shown rows directly below a row."""
        return self._top if number < 0 else self.items[number].children

    def part(self, item: TreeItem) -> Part:
        """Return the part of the model that a row belongs to."""
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

    def arrange(self, matchers: Sequence[Matcher] = ()) -> None:
        """Show the rows that all matchers accept, and their ancestors, in the model's order."""
        matching: Sequence[int] = range(len(self.items))
        for matches in matchers:
            matching = [number for number in matching if matches(self.items[number])]
        # A folded row does not count if it matches because of its members.
        folded = {self.items[number].parent for number in matching}
        self.hits = tuple(
            number
            for number in (matching if matchers else ())
            if not self.items[number].row.is_folded or number not in folded
        )
        for item in self.items:
            item.position, item.children, item.is_hit = -1, [], False
        for number in self.hits:
            self.items[number].is_hit = True
        self._top = []
        for number in self._with_ancestors(matching) if matchers else matching:
            item = self.items[number]
            siblings = self.items[item.parent].children if item.parent >= 0 else self._top
            item.position = len(siblings)
            siblings.append(number)

    def hits_in_order(self) -> list[int]:
        """Return the hits from the top down, as rows are sorted now."""
        found: list[int] = []
        hits, waiting = set(self.hits), list(reversed(self._top))
        while waiting:
            number = waiting.pop()
            if number in hits:
                found.append(number)
            waiting += reversed(self.items[number].children)
        return found

    def sort(self, key: Callable[[TreeItem], Any] | None, is_descending: bool = False) -> None:
        """Sort siblings by a key, or in the model's order."""
        items = self.items
        keys = range(len(items)) if key is None else list(map(key, items))
        for item in items:
            if item.children:
                item.children.sort(key=keys.__getitem__, reverse=is_descending)
                for position, number in enumerate(item.children):
                    items[number].position = position

    def _with_ancestors(self, numbers: Sequence[int]) -> list[int]:
        shown = [False] * len(self.items)
        for number in numbers:
            shown[number] = True
        # Parents precede their children in the list.
        for number in range(len(self.items) - 1, 0, -1):
            if shown[number]:
                shown[self.items[number].parent] = True
        return [number for number, is_shown in enumerate(shown) if is_shown]

    def _add(self, row: TreeRow, parent: int, depth: int) -> None:
        number, key, class_label = len(self.items), row.key, row.class_label
        text = f"{key} {class_label}".casefold()
        self.items.append(TreeItem(row, key, parent, depth, text, self))
        self.looks.setdefault((class_label, row.parameters, row.share, row.shape), self.items[-1])
        self.module_count += not row.members
        for child in row.members or row.children:
            self._add(child, number, depth + 1)
