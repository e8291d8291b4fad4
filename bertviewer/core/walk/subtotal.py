"""A model's count without what stands on top of its layers: poolers and heads."""

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.families.families import role_of_class
from bertviewer.core.frozen import frozen
from bertviewer.core.walk.walk import Walk

_POOLER = "pooler"
_HEADS = frozenset({"head", "head transform", "language-model head"})


@frozen
class OnTop:
    """A pooler or a head, and what the walk's steps count of it.

    ``what`` is "pooler" or "head", ``path`` its module.
    """

    what: str
    path: str
    parameters: int


@frozen
class Subtotal:
    """What is counted without poolers and heads.

    Attributes:
        parameters: the subtotal.
        on_top: what is left out of it, in the order of the walk.
    """

    parameters: int
    on_top: tuple[OnTop, ...]

    @property
    def total(self) -> int:
        """The model's own count."""
        return self.parameters + sum(part.parameters for part in self.on_top)

    @property
    def difference(self) -> str:
        """What is left out, in words: "pooler 1,049,600", "pooler 590,592 and head 1,538"."""
        counts: dict[str, int] = {}
        for part in self.on_top:
            counts[part.what] = counts.get(part.what, 0) + part.parameters
        named = [f"{what} {count:,}" for what, count in counts.items()]
        return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def subtotal(walk: Walk, architecture: Architecture) -> Subtotal | None:
    """Return a walk's sum without the steps of poolers and heads, ``None`` if there are none.

    A head counts what the model has no other use for: a tied weight is the embeddings'.
    """
    tops = _tops(architecture)
    counts: dict[str, int] = {}
    for step in walk.steps:
        path = step.path or ""
        top = next((node.path for node in tops if f"{path}.".startswith(f"{node.path}.")), None)
        if top is not None and step.count.parameters:
            counts[top] = counts.get(top, 0) + step.count.parameters
    if not counts:
        return None
    pooler_paths = {node.path for node in tops if _is_pooler(node)}
    on_top = tuple(
        OnTop(_POOLER if path in pooler_paths else "head", path, count)
        for path, count in counts.items()
    )
    return Subtotal(walk.parameters - sum(counts.values()), on_top)


def _tops(architecture: Architecture) -> list[ModuleNode]:
    """Return the outermost poolers and heads."""
    found: list[ModuleNode] = []
    for node in architecture.modules:
        is_inside = any(node.path.startswith(f"{top.path}.") for top in found)
        if node.path and not is_inside and (_is_pooler(node) or _is_head(node, architecture)):
            found.append(node)
    return found


def _is_pooler(node: ModuleNode) -> bool:
    return role_of_class(node.class_name) == _POOLER or node.name == _POOLER


def _is_head(node: ModuleNode, architecture: Architecture) -> bool:
    """Tell whether a module is of a head's kind, or stands beside the base model of a task's."""
    if role_of_class(node.class_name) in _HEADS:
        return True
    if node.parent != "" or role_of_class(architecture.root.class_name) != "task model":
        return False
    return role_of_class(node.class_name) not in ("base model", "embedding", "dropout", "stack")
