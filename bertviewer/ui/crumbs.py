"""A path cut into what a person reads: encoder, layer 3, attention, self."""

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.folding import TreeRow
from bertviewer.core.frozen import frozen


@frozen
class Crumb:
    """A part of a path: what it is called, the key of its row, and the module that it is in."""

    label: str
    key: str
    parent: str


def crumbs_of(row: TreeRow) -> tuple[Crumb, ...]:
    """Return the parts of a row's path from the outermost on; the model itself has its class."""
    if not row.key:
        return (Crumb(row.node.class_name, "", ""),)
    crumbs: list[Crumb] = []
    path = row.node.parent or "" if row.is_folded else row.node.path
    parent = ""
    for name in path.split(".") if path else ():
        key = f"{parent}.{name}" if parent else name
        # A number says nothing without the list that it is of.
        before = crumbs.pop().label if name.isdecimal() and crumbs else ""
        crumbs.append(Crumb(f"{before} {name}".strip(), key, parent))
        parent = key
    if row.is_folded:
        before = crumbs.pop().label if crumbs else ""
        crumbs.append(Crumb(f"{before} {row.label}".strip(), row.key, path))
    return tuple(crumbs)


def beside(crumb: Crumb, architecture: Architecture) -> tuple[Crumb, ...]:
    """Return the modules in the same module, the crumb's own among them."""
    words = crumb.label.rpartition(" ")[0]
    return tuple(
        Crumb(f"{words} {node.name}".strip(), node.path, crumb.parent)
        for node in architecture.children(crumb.parent)
    )
