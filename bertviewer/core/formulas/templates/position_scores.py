"""What attentions add to their scores for the positions of the two tokens."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import prod

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.formulas.steps.attention import PRODUCTS, factor_of
from bertviewer.core.formulas.steps.origins import chain_of
from bertviewer.core.formulas.templates.attention_maths import ROOT
from bertviewer.core.formulas.templates.heads import Heads, layer_of
from bertviewer.core.frozen import frozen
from bertviewer.core.graph.module_graph import ModuleGraph, Step, graph_of

_USUAL_BUCKETS, _USUAL_FURTHEST = 32, 128
"""What T5's function for buckets assumes where the configuration has no numbers for it."""
_ADDED = "learnt vector of head h, added to queries that meet distances"
_TABLES = ("embedding", "look-up")
_AROUND = ("gather", "index_select", "add", "div", "mul", "pad")


@frozen
class Bias:
    """A bias on the scores: its lines, terms with placeholders, and values for the texts."""

    lines: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)


_CONSTANT = Bias(
    terms=(Term("B_h", "bias of head h for the two positions, which does not depend on the text"),)
)
_SLOPES = Bias(
    ("B_(h, i j) = m_h j",),
    (
        Term("B_h", "bias of head h for the position j of the key (ALiBi)"),
        Term("m_h", "slope of head h: a fixed number, smaller from head to head"),
    ),
    {
        "explained": "ALiBi: there are no position vectors. The bias falls linearly with the "
        "distance, with a fixed slope per head. The formula adds m_h j instead of −m_h (i − j): "
        "softmax does not change if all scores of a row change by the same number.",
        "bias_source": "bias: Press et al. 2022 (ALiBi), section 3",
    },
)


def bias_of(heads: Heads) -> Bias | None:
    """Return the bias on the scores, an empty one if there is none, ``None`` for unknown ones."""
    graph, biases = heads.view.graph, heads.scores.of("bias")
    if not biases or graph is None:
        return Bias()
    if len(biases) > 1:
        return None
    if (found := _table_bias(heads, graph, biases[0].operand)) is not None:
        return found
    products = products_of(heads)
    if len(products) == 1 and not products[0].is_gathered:
        return _product_bias(heads, products[0])
    given = graph.given.get(biases[0].operand.node)
    config = heads.view.config
    parts = (config, *(value for value in config.values() if isinstance(value, Mapping)))
    if given is not None and (
        "alibi" in given.name or any(part.get("alibi") is True for part in parts)
    ):
        return _SLOPES
    return _CONSTANT if given is not None and given.kind == "constant" else None


def _table_bias(heads: Heads, graph: ModuleGraph, operand: Operand) -> Bias | None:
    """Return a learnt bias by how far apart two positions are (T5, MPNet, Swin)."""
    view, maker = heads.view, graph.maker(operand)
    if maker is not None and maker.operation not in _TABLES:
        return None
    tables = tuple(_tables_around(view, heads.count))
    own = next(iter(_own_tables(view, graph, heads.count)), None)
    if own is None and not tables:
        return None
    path, rows, operation = own or tables[0]
    *_, holder, name = ("", "", *path.split("."))
    where = f"The module “{holder}” holds the table, {name}"
    if own or any(part.isdecimal() for part in path.split(".")):
        where = f"{'This module' if own else 'The first layer’s attention'} holds the table"
    is_bucketed = operation == "embedding"
    furthest = view.integer("relative_attention_max_distance")
    if view.integer("relative_attention_num_buckets") is None and rows == _USUAL_BUCKETS:
        furthest = furthest or _USUAL_FURTHEST
    is_shared = len(tables) <= 1 and is_bucketed
    layers = "all layers of the stack add the same bias" if is_shared else "each layer has its own"
    row, apart = ("bucket", "distance") if is_bucketed else ("offset", "offset")
    steps = ""
    if is_bucketed and furthest is not None:
        steps = _steps(rows, furthest, both_ways=view.attribute("is_decoder") is not True)
    is_known = bool(furthest) or not is_bucketed
    source = "Raffel et al. 2020, section 2.1" if furthest else "Liu et al. 2021, section 3.2"
    per = "distance bucket" if is_bucketed else "offset"
    return Bias(
        ('B_(h, i j) = W_"rel" [b(j - i), h]',),
        (
            Term("B_h", f"bias of head h for the {apart} from position i to position j"),
            Term('W_"rel"', "learnt: one row per {row}, one column per head", "[{rows}, {count}]"),
            Term("b(j - i)", "{which}", f"0 to {rows - 1}" if is_known else None),
        ),
        {
            "bias": f"a bias on the scores, one number per head and {per}.{steps}",
            "table": f"{where}; {layers}",
            "row": row,
            "rows": rows,
            "which": "bucket of this distance" if is_bucketed else "row of this offset",
            "bias_source": f"bias: {source}",
            "is_masked": maker is None and bool(graph.of("look-up")),
        },
    )


_Table = tuple[str, int, str]
"""The path of a table with a column per head, its rows, and the operation that reads it."""


def _own_tables(view: ModuleView, graph: ModuleGraph, heads: int) -> Iterator[_Table]:
    """Yield the tables that a module's own code reads."""
    for step in graph.of(*_TABLES):
        for name in (*(o.parameter for o in step.operands), *step.node.reads):
            if (shape := view.parameter_shape(name))[1:] == (heads,):
                yield step.node.path or "", shape[0], step.operation


def _tables_around(view: ModuleView, heads: int) -> Iterator[_Table]:
    """Yield the tables in the stack around a module."""
    flows, path = view.architecture.flows, view.node.path
    while path and flows is not None:
        path = path.rpartition(".")[0]
        found = []
        for tensor in view.architecture.tensors_below(path):
            flow = flows.flow(tensor.owner) if tensor.shape[1:] == (heads,) else None
            only = None if flow is None else graph_of(flow).only
            if only is not None and only.operation == "embedding":
                found.append((tensor.owner, tensor.shape[0], only.operation))
        if found and not path.rpartition(".")[2].isdecimal():
            yield from found
            return


def _steps(rows: int, furthest: int, *, both_ways: bool) -> str:
    """Say how distances are put into buckets, "" where some buckets have no distance.

    Half of those for one side are for one distance each; the rest go up to ``furthest`` in
    logarithmic steps. Distance 0 counts as earlier.
    """
    side = rows // 2 if both_ways else rows
    single = side // 2
    if single < 1 or single * ((furthest / single) ** (1 / (side - single)) - 1) < 1:
        return ""
    ways = (
        f"all {side} buckets are for earlier positions, from distance 0; the first {single} cover"
    )
    if both_ways:
        ways = (
            f"{side} buckets are for earlier positions, from distance 0, and {side - 1} for later "
            f"ones, from distance 1; the first {single} and {single - 1} of them, respectively, "
            "cover"
        )
    return (
        f" Here {ways} one distance each. The others cover the distances up to {furthest} in "
        "logarithmic steps, and all greater distances share the last."
    )


@frozen
class PositionProduct:
    """A product of queries or keys with vectors of distances, as a summand of the scores.

    Attributes:
        role: ``query`` or ``key``: what the distances are compared with.
        layer: the projection of the distances' vectors.
        path: that projection's module.
        rows: how many vectors of distances there are.
        added: whether a learnt vector is added to each query first.
        is_gathered: whether rows are picked by an index, and not by a shift.
        factor: the number that the product is multiplied by before it is added.
    """

    role: str
    layer: Affine
    path: str
    rows: int
    added: bool
    is_gathered: bool = False
    factor: float = 1.0


def _product_bias(heads: Heads, product: PositionProduct) -> Bias:
    """Return the product of queries and distances as a bias (Transformer-XL, XLNet)."""
    query = "(Q_(h, i) + v_h)" if product.added else "Q_(h, i)"
    text = f"{query} dot R_(h, i - j)"
    if heads.unless_usual(product.factor) is None:
        text = f"({text}) / {ROOT}"
    return Bias(
        (f"B_(h, i j) = {text}, quad R = {product.layer.maths('E', 'R', sizes=False)}",),
        (
            Term("B_h", "bias of head h for the distance from position j to position i"),
            Term("E", "one vector for each distance", f"[{product.rows}, {product.layer.inputs}]"),
            *product.layer.terms("the projection of the distances", "R"),
            Term("R_(h, i - j)", "columns of head h in the row of this distance"),
            Term("v_h", _ADDED, "[{size}]"),
        ),
        {
            "explained": "Relative positions: a score is the product of a query with the key "
            "(content) plus its product with the projected vector of the distance (position). "
            "u and v replace the query’s own position, as no absolute positions exist.",
            "bias_source": "distances: Dai et al. 2019 (Transformer-XL), section 3.3",
        },
    )


def products_of(heads: Heads) -> tuple[PositionProduct, ...]:
    """Return the products with vectors of distances that are a bias, none for other biases."""
    graph, biases = heads.view.graph, heads.scores.of("bias")
    last = graph.maker(biases[0].operand) if graph and len(biases) == 1 else None
    if graph is None or last is None:
        return ()
    inner = last.inner if last.operation == "position bias" else _until_layers(graph, last)
    if not {each.operation for each in inner} <= {*PRODUCTS, *_AROUND}:
        return ()
    # With the group's own steps, what they read can be followed back to a layer.
    whole = replace(graph, steps=(*graph.steps, *last.inner))
    found = [_product(heads, whole, inner, e) for e in inner if e.operation in PRODUCTS]
    if None in found:
        return ()
    factor = prod(factor_of(e) or 1.0 for e in inner if e.operation in ("mul", "div"))
    is_gathered = any(each.operation == "gather" for each in inner)
    return tuple(replace(e, factor=factor, is_gathered=is_gathered) for e in found if e)


def _until_layers(graph: ModuleGraph, last: Step) -> tuple[Step, ...]:
    """Return the steps that a result is computed by, from the linear layers on."""
    found: set[str] = set()
    waiting = [last]
    while waiting:
        step = waiting.pop()
        if step.operation != "linear" and step.node.id not in found:
            found.add(step.node.id)
            waiting += [maker for o in step.tensors if (maker := graph.maker(o)) is not None]
    return tuple(each for each in graph.steps if each.node.id in found)


def _product(
    heads: Heads, graph: ModuleGraph, inner: tuple[Step, ...], product: Step
) -> PositionProduct | None:
    """Return a product of queries or keys with projected distances, ``None`` for any other."""
    read = [o for o in product.operands if o.is_tensor]
    origins = [chain_of(graph, operand).origin for operand in read]
    layers = [graph.maker(origin) for origin in origins]
    for token, far in ((0, 1), (1, 0)) if len(read) == 2 else ():
        projection, layer = layers[far], layer_of(heads.view, layers[far])
        if projection is None or layer is None or layers[token] is None:
            continue
        given = [graph.given.get(o.node) for o in projection.tensors]
        if any(node is None or node.kind == "input" for node in given):
            continue
        before = next((e for e in inner if e.node.id == read[token].node), None)
        is_key = origins[token] == chain_of(graph, heads.step.roles["key"]).origin
        table = heads.view.parameter_shape(projection.operands[0].parameter)
        return PositionProduct(
            "key" if is_key else "query",
            layer,
            projection.node.path or "",
            # Only the rows for the distances of a sentence may be read of a table.
            table[0] if table else prod(projection.node.shape) // layer.outputs,
            before is not None and before.operation == "add",
        )
    return None
