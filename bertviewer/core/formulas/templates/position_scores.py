"""What attentions add to their scores for the positions of the two tokens."""

from collections.abc import Iterator
from dataclasses import replace
from math import log

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.facts import has_positions
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import ModuleGraph, Step, graph_of
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.formulas.notes import Note, no
from bertviewer.core.formulas.templates.heads import Heads
from bertviewer.core.formulas.templates.projections import layer_of
from bertviewer.core.formulas.templates.scores import number_of
from bertviewer.core.frozen import frozen

_MOST_DISTANCES = 2**16
_USUAL_BUCKETS, _USUAL_FURTHEST = 32, 128
"""What T5's function for buckets assumes where nobody gives it numbers."""
_PRODUCTS = ("matmul", "einsum", "bmm")


@frozen
class Distances:
    """A learnt bias on the scores by how far apart two positions are (T5, MPNet, Swin).

    Attributes:
        table: its shape, [rows, heads].
        holder: which module has the table, in words.
        is_shared: whether all layers of the stack add the same bias.
        is_bucketed: whether several distances share a row, a bucket.
        furthest: from which distance on all share a row, ``None`` if that is not known.
        both_ways: whether later positions have rows too.
    """

    table: tuple[int, ...]
    holder: str
    is_shared: bool
    is_bucketed: bool
    furthest: int | None
    both_ways: bool

    @property
    def maths(self) -> str:
        """The line that defines the bias."""
        return 'B_(h, i j) = W_"rel" [b(j - i), h]'

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the bias."""
        rows, heads = self.table
        what = "bucket of this distance" if self.is_bucketed else "row of this offset"
        of = "distance" if self.is_bucketed else "offset"
        known = not self.is_bucketed or self.furthest is not None
        return (
            Term("B_h", f"bias of head h for the {of} from position i to position j"),
            Term(
                'W_"rel"',
                f"learnt: one row per {'bucket' if self.is_bucketed else 'offset'}, one column per "
                "head",
                f"[{rows}, {heads}]",
            ),
            Term("b(j - i)", what, f"0 to {rows - 1}" if known else None),
        )


@frozen
class PositionProduct:
    """A product of queries or keys with vectors of distances, as one summand of the scores.

    Attributes:
        role: ``query`` or ``key``: what the distances are compared with.
        layer: the projection of the distances' vectors, and its path.
        rows: how many vectors of distances there are.
        added: the shape of a learnt vector that is added to each query, ``()`` for none.
        is_gathered: whether rows are picked by an index, and not by a shift.
        factor: the number that the product is multiplied by before it is added.
    """

    role: str
    layer: Affine
    path: str
    rows: int
    added: tuple[int, ...]
    is_gathered: bool
    factor: float


def distances_of(heads: Heads) -> Distances | None:
    """Return the table that a bias on the scores is looked up in, ``None`` for other biases."""
    biases = heads.scores.of("bias")
    graph, view = heads.view.graph, heads.view
    if len(biases) != 1 or graph is None:
        return None
    maker = graph.maker(biases[0].operand)
    if maker is not None and maker.operation not in ("embedding", "look-up"):
        return None
    own = next((each for each in graph.of("embedding", "look-up")), None)
    path = view.node.path if own is None else (own.node.path or "")
    found = None if own is None else _table(view, own, heads.count)
    tables = tuple(_tables_around(view, heads.count))
    if found is None:
        path, found = next(iter(tables), ("", None))
    if found is None:
        return None
    rows = found[0]
    buckets = view.integer("relative_attention_num_buckets")
    furthest = view.integer("relative_attention_max_distance")
    is_bucketed = own is None or own.operation == "embedding"
    if buckets is None and is_bucketed and rows == _USUAL_BUCKETS:
        furthest = furthest or _USUAL_FURTHEST
    return Distances(
        found,
        _holder(view, path, is_own=own is not None),
        len(tables) <= 1 and is_bucketed,
        is_bucketed,
        furthest if is_bucketed else None,
        both_ways=view.attribute("is_decoder") is not True,
    )


def _holder(view: ModuleView, path: str, *, is_own: bool) -> str:
    if is_own:
        return "This module holds the table"
    *_, holder, name = ("", "", *path.split("."))
    if _layer_list(path):
        return "The first layer’s attention holds the table"
    return f"The module “{holder}” holds the table, {name}"


def _layer_list(path: str) -> bool:
    return any(part.isdecimal() for part in path.split("."))


def _table(view: ModuleView, step: Step, heads: int) -> tuple[int, ...] | None:
    names = {step.operands[0].parameter} if step.operands else set()
    names |= set(step.node.reads) | {f"{step.node.path}.weight"}
    shapes = (t.shape for t in view.architecture.parameters if t.name in names)
    return next((each for each in shapes if len(each) == 2 and each[1] == heads), None)


def _tables_around(view: ModuleView, heads: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the tables of positions with a column per head in the stack around a module."""
    flows, path = view.architecture.flows, view.node.path
    while path and flows is not None:
        path = path.rpartition(".")[0]
        start = f"{path}." if path else ""
        found = []
        for tensor in view.architecture.parameters:
            if not tensor.name.startswith(start) or tensor.shape[1:] != (heads,):
                continue
            flow = flows.flow(tensor.owner)
            only = None if flow is None else graph_of(flow).only
            if only is not None and only.operation == "embedding":
                found.append((tensor.owner, tensor.shape))
        if found and not path.rpartition(".")[2].isdecimal():
            yield from found
            return


def bias_notes(distances: Distances) -> list[str]:
    """Explain the table of distances."""
    what = "distance bucket" if distances.is_bucketed else "offset"
    bias = f"a bias on the scores, one number per head and {what}."
    steps = _steps(distances)
    shared = (
        "all layers of the stack add the same bias"
        if distances.is_shared
        else "each layer has its own"
    )
    return [
        Note(
            f"There are no position vectors: token order enters as {bias}{steps}", no(has_positions)
        ),
        Note(
            f"Token order enters as position vectors, in the embeddings, and as {bias}{steps}",
            has_positions,
        ),
        f"{distances.holder}; {shared}.",
    ]


def _steps(distances: Distances) -> str:
    """Say how distances are put into buckets, "" where they are not in steps."""
    buckets, furthest = distances.table[0], distances.furthest
    if furthest is None:
        return ""
    side = buckets // 2 if distances.both_ways else buckets
    try:
        back, single = buckets_in_use(0, side, furthest)
        ahead, single_ahead = buckets_in_use(1, side, furthest)
    except ValueError:
        return ""
    ways = (
        f"all {back} buckets are for earlier positions, from distance 0; the first {single} cover"
    )
    if distances.both_ways:
        ways = (
            f"{back} buckets are for earlier positions, from distance 0, and {ahead} for later "
            f"ones, from distance 1; the first {single} and {single_ahead} of them, respectively, "
            "cover"
        )
    elif back < buckets:
        ways = ways.replace("all ", "", 1)
    return (
        f" Here {ways} one distance each. The others cover the distances up to {furthest} in "
        "logarithmic steps, and all greater distances share the last."
    )


def bucket_of(distance: int, buckets: int, furthest: int) -> int:
    """Return the bucket of a distance to one side, of so many buckets for that side.

    Half of them are for one distance each, the rest go up to ``furthest`` in logarithmic steps.
    """
    exact = buckets // 2
    if distance < exact:
        return distance
    step = log(distance / exact) / log(furthest / exact) * (buckets - exact)
    return min(exact + int(step), buckets - 1)


def buckets_in_use(first: int, buckets: int, furthest: int) -> tuple[int, int]:
    """Return how many buckets distances from ``first`` on use, and how many of one distance.

    Raises:
        ValueError: the numbers leave no such steps, or too many distances to try.
    """
    exact = buckets // 2
    if exact < 1 or not exact < furthest <= _MOST_DISTANCES:
        raise ValueError("buckets without steps")
    used = {bucket_of(distance, buckets, furthest) for distance in range(first, furthest + 1)}
    return len(used), len([bucket for bucket in used if bucket < exact])


def products_of(heads: Heads) -> tuple[PositionProduct, ...]:
    """Return the products with vectors of distances that are a bias, none for other biases."""
    graph = heads.view.graph
    biases = heads.scores.of("bias")
    if graph is None or len(biases) != 1:
        return ()
    steps = _bias_steps(graph, biases[0].operand)
    found = []
    factor = 1.0
    inner = {each.node.id: each for each in steps}
    for step in steps:
        if step.operation not in (*_PRODUCTS, *_AROUND):
            return ()
        if step.operation in _PRODUCTS:
            tensors = [o for o in step.operands if o.is_tensor]
            if len(tensors) != 2:
                return ()
            product = _product(heads, graph, inner, (tensors[0], tensors[1]))
            if product is None:
                return ()
            found.append(product)
        elif step.operation in ("mul", "div"):
            numbers = [number_of(o) for o in step.operands if o.plain]
            number = numbers[0] if numbers else None
            if number:
                factor *= number if step.operation == "mul" else 1 / number
    return tuple(replace(each, factor=factor) for each in found)


_AROUND = ("gather", "index_select", "add", "div", "mul", "pad")


def _bias_steps(graph: ModuleGraph, operand: Operand) -> tuple[Step, ...]:
    """Return the steps that compute a bias, from the linear layers on."""
    group = graph.maker(operand)
    if group is None:
        return ()
    if group.operation == "position bias":
        return group.inner
    found: dict[str, Step] = {}
    waiting = [group]
    while waiting:
        step = waiting.pop()
        if step.operation != "linear" and step.node.id not in found:
            found[step.node.id] = step
            waiting += [each for o in step.tensors if (each := graph.maker(o)) is not None]
    return tuple(each for each in graph.steps if each.node.id in found)


def _product(
    heads: Heads, graph: ModuleGraph, inner: dict[str, Step], tensors: tuple[Operand, Operand]
) -> PositionProduct | None:
    """Return a product of queries or keys with projected distances, ``None`` for any other."""
    for token, far in (tensors, tensors[::-1]):
        layer_step = _layer_step(graph, inner, far)
        own = _layer_step(graph, inner, token)
        if layer_step is None or own is None or _reads_input(graph, layer_step):
            continue
        layer = layer_of(heads.view, layer_step)
        if layer is None:
            return None
        return PositionProduct(
            "key" if _is_role(heads, graph, "key", own, token) else "query",
            layer,
            layer_step.node.path or "",
            _rows(heads, layer_step, layer),
            _added(heads, graph, inner, token),
            is_gathered=any(each.operation == "gather" for each in inner.values()),
            factor=1.0,
        )
    return None


def _rows(heads: Heads, step: Step, layer: Affine) -> int:
    """Return how many vectors of distances there are.

    Only the rows for the distances of a sentence may be read of a table.
    """
    shapes = {each.name: each.shape for each in heads.view.architecture.parameters}
    table = shapes.get(next((o.parameter for o in step.operands if o.parameter), ""), ())
    if table[1:] == (layer.inputs,) and table != layer.shape:
        return table[0]
    return step.node.shape[0 if step.node.details.get("function") == "einsum" else -2]


def _layer_step(graph: ModuleGraph, inner: dict[str, Step], operand: Operand) -> Step | None:
    """Return the linear layer behind an operand: scales and sums with parameters are passed."""
    for _ in range(4):
        step = inner.get(operand.node) or graph.maker(operand)
        if step is None or step.operation == "linear":
            return step
        makers = [o for o in step.tensors if o.node in inner or graph.maker(o)]
        if step.operation not in ("add", "mul", "div") or not makers:
            return None
        operand = makers[0]
    return None


def _reads_input(graph: ModuleGraph, step: Step) -> bool:
    return any(
        graph.given[o.node].kind == "input" for o in step.tensors if o.node in graph.given
    ) or any(graph.maker(o) is not None for o in step.tensors)


def _is_role(heads: Heads, graph: ModuleGraph, role: str, own: Step, token: Operand) -> bool:
    """Return whether a token's vectors are those that have a role in the attention."""
    operand = heads.step.roles[role]
    maker = _layer_step(graph, {}, operand)
    if maker is None or maker.node.id != own.node.id:
        return False
    query = _layer_step(graph, {}, heads.step.roles["query"])
    is_one_layer = query is not None and query.node.id == own.node.id
    return not is_one_layer or token.parts[:1] == operand.parts[:1] != ()


def _added(
    heads: Heads, graph: ModuleGraph, inner: dict[str, Step], token: Operand
) -> tuple[int, ...]:
    """Return the shape of a parameter that is added to a token's vectors in the bias."""
    step = inner.get(token.node)
    if step is None or step.operation != "add":
        return ()
    shapes = {t.name: t.shape for t in heads.view.architecture.parameters}
    found = [shapes.get(o.parameter, ()) for o in step.operands if o.parameter]
    found += [graph.given[o.node].shape for o in step.tensors if o.node in graph.given]
    return next(iter(found), ())
