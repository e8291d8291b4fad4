"""The module tree with runs of equal layers folded into one row each.

The window's tree, the text summary and the report's table show these rows.
"""

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.util.memory import gc_paused


class TreeRow(Struct, frozen=True):
    """A module, or several equal modules folded into one row.

    Attributes:
        node: the module, the first one if folded.
        members: the rows of the folded modules; empty for a single module.
        children: the rows below; if folded, those of the first member.
        shape: of the module's weight, ``None`` without one.
    """

    node: ModuleNode
    members: tuple["TreeRow", ...]
    children: tuple["TreeRow", ...]
    shape: tuple[int, ...] | None

    @property
    def is_folded(self) -> bool:
        """Whether the row represents several modules."""
        return bool(self.members)

    @property
    def key(self) -> str:
        """A unique name in the tree: the path, with a range for a folded row."""
        if self.is_folded:
            return f"{self.node.parent or ''}[{self.label}]"
        return self.node.path

    @property
    def label(self) -> str:
        """The row's name below its parent: ``query``, ``3``, or ``0–11``."""
        if self.is_folded:
            return f"{self.members[0].node.name}–{self.members[-1].node.name}"
        return self.node.name or self.node.class_name

    @property
    def class_label(self) -> str:
        """The class, with the number of modules before it for a folded row."""
        if self.is_folded:
            return f"{len(self.members)} × {self.node.class_name}"
        return self.node.class_name

    @property
    def parameters(self) -> int:
        """The elements of all members."""
        return sum(m.parameters for m in self.members) if self.members else self.node.parameters

    @property
    def trainable(self) -> int:
        """The trainable elements of all members."""
        return sum(m.trainable for m in self.members) if self.members else self.node.trainable

    @property
    def share(self) -> float:
        """The fraction of the model's parameters, all members together."""
        return sum(m.share for m in self.members) if self.members else self.node.share


@gc_paused()
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
