"""A step of a walk before anything is counted: what goes in, what comes out, and whose it is."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from bertviewer.core.architecture.flow import Edge, Flow, Letters, Node, Shape
from bertviewer.core.frozen import frozen
from bertviewer.core.walk.wires import Wires


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


ENDS = ("input", "output", "constant", "parameter")
"""The kinds of nodes that do nothing."""


def formed(wires: Wires, block: Block, nodes: Sequence[Node]) -> Block:
    """Return a block with what it reads, takes and gives."""
    inside = {node.id for node in nodes}
    reads = dict.fromkeys(name for node in nodes for name in node.reads)
    into = (edge for node in nodes for edge in wires.data(node))
    taken = next((edge for edge in into if edge.source not in inside), None)
    last = nodes[-1]
    given = Form(last.shape, last.symbolic_shape)
    for edge in wires.out(last):
        if len(edge.shape) == 3 > len(last.shape):
            given = form_of(edge)  # all sentences' tokens in one row are parted again
    form = None if taken is None else _arriving(wires, taken)
    if form is not None and len(given.shape) == 2 and len(form.shape) == 3:
        sentences, tokens, _ = form.shape
        if given.shape[0] == sentences * tokens:
            given = Form((sentences, tokens, given.shape[1]))
    return replace(
        block,
        reads=tuple(reads),
        taken=form,
        given=given,
        flow=wires.flow.path,
        nodes=tuple(node.id for node in nodes),
    )


def _arriving(wires: Wires, edge: Edge) -> Form:
    """Return what an edge brings; tokens that were put in one row as they were before."""
    source = wires.source(edge)
    if len(edge.shape) < len(source.shape) == 3 and prod(edge.shape) == prod(source.shape):
        return Form(source.shape, source.symbolic_shape)
    return form_of(edge)


def path_around(base: str, nodes: Sequence[Node]) -> str | None:
    """Return the module around nodes; the first of several in the layer itself."""
    paths = [node.path for node in nodes if node.path is not None]
    if not paths:
        return None
    common = _common(paths)
    if common != base and not base.startswith(f"{common}."):
        return common
    rest = paths[0][len(base) :].lstrip(".")
    first = rest.partition(".")[0]
    return ".".join(filter(None, (base, first)))


def innermost(flow: Flow) -> str:
    """Return the innermost module that does all of a flow: a wrapper's child."""
    return _common(node.path for node in flow.nodes if node.kind not in ENDS)


def _common(paths: Iterable[str | None]) -> str:
    """Return the innermost module that all of these are in, or are."""
    parts = [path.split(".") for path in paths if path is not None]
    if not parts:
        return ""
    found = []
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        found.append(names[0])
    return ".".join(found)
