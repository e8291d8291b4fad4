"""A step of a walk, before anything is counted."""

from bertviewer.core.architecture.flow import Edge, Letters, Shape
from bertviewer.core.frozen import frozen


@frozen
class Form:
    """A tensor's shape in numbers, and in letters where the flow has them."""

    shape: Shape
    letters: Letters | None = None


@frozen
class Block:
    """One step to be.

    Attributes:
        name: what a teacher calls it.
        path: the module to look at, ``None`` for an addition.
        note: what a learner asks at it.
        reads: the parameters that it computes with.
        taken: what goes in, ``None`` where nothing does.
        given: what comes out.
        looked_up: the name of the input that a table is looked up by, empty for all else.
        is_whole: whether it is just what the module at ``path`` does.
        flow: the module whose flow it was read off, ``None`` for none.
        nodes: the nodes of that flow, by their ids.
    """

    name: str
    path: str | None
    note: str = ""
    reads: tuple[str, ...] = ()
    taken: Form | None = None
    given: Form | None = None
    looked_up: str = ""
    is_whole: bool = False
    flow: str | None = None
    nodes: tuple[str, ...] = ()


def form_of(edge: Edge) -> Form:
    """Return what an edge brings."""
    return Form(edge.shape, edge.symbolic_shape)
