"""The module tree as people read it: equal neighbouring layers folded into one row.

The tree in the window, the text summary and the report's table all draw these rows.
"""

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_node import ModuleNode
from bertviewer.core.util.gc_paused import no_search_for_garbage


class TreeRow(Struct, frozen=True):
    """A row of the tree: a module, or ``members`` equal modules folded into one.

    A folded row stands for all its members; ``node`` is the first of them.
    """

    node: ModuleNode
    members: tuple["TreeRow", ...]
    children: tuple["TreeRow", ...]
    shape: tuple[int, ...] | None

    @property
    def is_folded(self) -> bool:
        """Whether the row stands for several modules."""
        return bool(self.members)

    @property
    def key(self) -> str:
        """A name that is unique in the tree: the path, with a range for a folded row."""
        if self.is_folded:
            return f"{self.node.parent or ''}[{self.label}]"
        return self.node.path

    @property
    def label(self) -> str:
        """What the row is called below its parent: ``query``, ``3``, or ``0–11``."""
        if self.is_folded:
            return f"{self.members[0].node.name}–{self.members[-1].node.name}"
        return self.node.name or self.node.class_name

    @property
    def class_label(self) -> str:
        """The class, with the number of layers in front for a folded row."""
        if self.is_folded:
            return f"{len(self.members)} × {self.node.class_name}"
        return self.node.class_name

    @property
    def parameters(self) -> int:
        """The elements in the row, all members together."""
        return sum(m.parameters for m in self.members) if self.members else self.node.parameters

    @property
    def trainable(self) -> int:
        """The trainable elements in the row, all members together."""
        return sum(m.trainable for m in self.members) if self.members else self.node.trainable

    @property
    def share(self) -> float:
        """The part of the model's total, all members together."""
        return sum(m.share for m in self.members) if self.members else self.node.share


@no_search_for_garbage()
def fold(architecture: Architecture) -> TreeRow:
    """Return the root row of the folded tree."""
    shapes = {
        tensor.owner: tensor.shape
        for tensor in reversed(architecture.parameters)
        if tensor.name.endswith("weight")
    }

    def row(node: ModuleNode) -> TreeRow:
        rows: list[TreeRow] = []
        pending: list[TreeRow] = []
        for child in architecture.children(node.path):
            made = row(child)
            if child.repeat is None:
                rows.append(made)
                continue
            pending.append(made)
            if child.repeat.last == int(child.name):
                first = pending[0]
                rows.append(TreeRow(first.node, tuple(pending), first.children, first.shape))
                pending = []
        return TreeRow(node, (), tuple(rows), shapes.get(node.path))

    return row(architecture.root)
