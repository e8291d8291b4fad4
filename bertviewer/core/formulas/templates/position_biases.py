"""Biases on attention scores that depend on the distance of two positions."""

from collections.abc import Mapping
from itertools import takewhile
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.analysis.layers import outermost_layer
from bertviewer.core.formulas.formula import Affine, Term, sized
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.attention import PRODUCTS, factor_of, scaled
from bertviewer.core.formulas.steps.expression import PRODUCT, Expression
from bertviewer.core.formulas.steps.graph_analysis import ROLES, chain_of
from bertviewer.core.formulas.templates.heads import Heads, Variant, layer_of
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Operand
from bertviewer.core.schema.modules import TensorInfo, ancestors

_USUAL_BUCKETS, _USUAL_FURTHEST = 32, 128
"""Defaults of T5's function for buckets."""

_TABLES = ("embedding", "look-up")
_BUCKETED = ("bucket", "distance", "distance bucket", "bucket of a distance")
_BY_OFFSET = ("offset", "offset", "offset", "row of an offset")
"""Words for a table's rows: row, distance, long form, and index."""

BUCKET, ROW = 'op("bucket")', 'op("row")'
"""Functions from a distance to a row of a table."""

_INDEX_K = '"K,rel"'
_QUERY_ROW, _KEY_ROW = "bold(q)_(h, i)", "bold(k)_(h, j)"
_FAR_KEY = 'bold(k)_(h, i - j)^"rel"'
_AROUND = ("gather", "index_select", "add", "div", "mul", "pad")
_CONSTANT = Variant(
    terms=(Term("B_h", "bias of head h for the two positions, which does not depend on the text"),)
)
_SLOPES = Variant(
    lines=("b_(h, i j) = eta_h j",),
    terms=(
        Term("B_h", "bias of head h for the position j of the key (ALiBi), with elements b"),
        Term("eta_h", "slope of head h: a fixed number, smaller from head to head"),
    ),
    values={
        "explained": "ALiBi: there are no position vectors. The bias falls linearly with the "
        "distance, with a fixed slope per head. The formula adds η_h j instead of −η_h (i − j): "
        "softmax does not change if all scores of a row change by the same number.",
        "bias_source": "bias: Press et al. 2022 (ALiBi), section 3",
    },
)


def bias_of(heads: Heads) -> Variant | None:
    """Return the bias on the scores as a variant, ``None`` for unknown biases."""
    graph, biases = heads.view.graph, heads.scores.of("bias")
    if not biases:
        return Variant()
    if len(biases) > 1:
        return None
    (operand,) = (each.operand for each in biases)
    for found in (_learnt_bias(heads, graph, operand), _product_bias(heads, graph, operand)):
        if found is not None:
            return found
    given, config = graph.given.get(operand.node), heads.view.config
    parts = (config, *(value for value in config.values() if isinstance(value, Mapping)))
    has_key = any(part.get("alibi") is True for part in parts)
    if given is not None and ("alibi" in given.name or has_key):
        return _SLOPES
    return _CONSTANT if given is not None and given.kind == "constant" else None


def _learnt_bias(heads: Heads, graph: ModuleGraph, operand: Operand) -> Variant | None:
    """Return a learnt bias by distance (T5, MPNet, Swin), ``None`` for other biases."""
    view, maker = heads.view, graph.maker(operand)
    tables = _bias_tables(view, heads.count) if maker is None or maker.operation in _TABLES else []
    if not tables:
        return None
    own = [each for each in tables if each[0].name.startswith(f"{view.node.path}.")]
    table, operation = (own or tables)[0]
    rows, is_bucketed = table.shape[0], operation == "embedding"
    *_, holder, name = ("", "", *table.owner.split("."))
    where = f"The module “{holder}” holds the table, {name}"
    where = where if holder else f"The model holds the table, {name}"
    if own or outermost_layer(table.owner):
        where = f"{'This module' if own else 'The first layer’s attention'} holds the table"
    is_shared = len(tables) == 1 and is_bucketed
    layers = "all layers of the stack add the same bias" if is_shared else "each layer has its own"
    furthest = view.integer("relative_attention_max_distance")
    if view.integer("relative_attention_num_buckets") is None and rows == _USUAL_BUCKETS:
        furthest = furthest or _USUAL_FURTHEST
    steps = ""
    if is_bucketed and furthest is not None:
        steps = _bucket_note(rows, furthest, both_ways=view.attribute("is_decoder") is not True)
    row, apart, per, which = _BUCKETED if is_bucketed else _BY_OFFSET
    function = BUCKET if is_bucketed else ROW
    source = "Raffel et al. 2020, section 2.1" if furthest else "Liu et al. 2021, section 3.2"
    is_known = bool(furthest) or not is_bucketed
    learnt = f"learnt: one row per {row}, one column per head"
    return Variant(
        lines=(f'b_(h, i j) = W_"rel" [{function}(j - i), h]',),
        terms=(
            Term(
                "B_h",
                f"bias of head h for the {apart} from position i to position j, with elements b",
            ),
            Term('W_"rel"', learnt, f"[{rows}, {heads.count}]"),
            Term(function, which, f"0 to {rows - 1}" if is_known else None),
        ),
        values={
            "bias": f"a bias on the scores, one number per head and {per}.{steps}",
            "table": f"{where}; {layers}",
            "bias_source": f"bias: {source}",
            # A mask was added to the rows of the table.
            "has_mask": maker is None and bool(graph.of("look-up")),
        },
        keys=view.config_keys("distances"),
    )


def _bias_tables(view: ModuleView, heads: int) -> list[tuple[TensorInfo, str]]:
    """Return the tables with a column per head around a module, with their lookup's operation."""
    stack = ".".join(takewhile(lambda part: not part.isdecimal(), view.node.path.split(".")))
    for path in ancestors(stack):
        found = [
            (tensor, step.operation)
            for tensor in view.architecture.tensors_below(path)
            if tensor.shape[1:] == (heads,)
            if (owner := view.at(tensor.owner)) is not None
            for step in owner.graph.of(*_TABLES)
            if tensor.name in (*step.node.reads, *(o.parameter for o in step.operands))
        ]
        if found:
            return found
    return []


def _bucket_note(rows: int, furthest: int, *, both_ways: bool) -> str:
    """Return the text on how distances are put into buckets, "" if some buckets are unused.

    Half of the buckets of one side are for one distance each; the rest cover distances up to
    ``furthest`` in logarithmic steps. Distance 0 counts as earlier.
    """
    side = rows // 2 if both_ways else rows
    single = side // 2
    if single < 1 or single * ((furthest / single) ** (1 / (side - single)) - 1) < 1:
        return ""
    later = f", and {side - 1} for later ones, from distance 1" if both_ways else ""
    cover = f"{single} and {single - 1} of them, respectively," if both_ways else str(single)
    return (
        f" Here {'' if both_ways else 'all '}{side} buckets are for earlier positions, from "
        f"distance 0{later}; the first {cover} cover one distance each. The others cover the "
        f"distances up to {furthest} in logarithmic steps, and all greater distances share the "
        "last."
    )


class _Product(Struct, frozen=True):
    """A product of queries or keys with projected vectors of distances.

    Attributes:
        role: ``query`` or ``key``, the other factor.
        layer: the projection of the distances' vectors.
        path: the projection's module.
        rows: the number of distances' vectors.
        added: whether a learnt vector is added to each query.
    """

    role: str
    layer: Affine
    path: str
    rows: int
    added: bool


def _product_bias(heads: Heads, graph: ModuleGraph, operand: Operand) -> Variant | None:
    """Return a bias of products with vectors of distances, ``None`` for other biases."""
    last, made = graph.maker(operand), graph.sources(operand, stop="linear")
    if last is None:
        return None
    inner = tuple(e for e in graph.steps if e.node.id in made and e.operation != "linear")
    inner = last.inner if last.operation == "position bias" else inner
    words = {each.operation for each in inner}
    # With the steps of the group.
    whole = replace(graph, steps=(*graph.steps, *last.inner))
    products = [_distance_product(heads, whole, inner, e) for e in inner if e.operation in PRODUCTS]
    known = {each.role: each for each in products if each is not None}
    if not products or None in products or len(known) < len(products):
        return None
    if not words <= {*PRODUCTS, *_AROUND}:
        return None
    if "gather" in words:
        return _deberta(heads, known)
    factor = prod(factor_of(each) or 1.0 for each in inner if each.operation in ("mul", "div"))
    (one, *others) = known.values()
    return None if others else _transformer_xl(heads, one, factor)


def _distance_product(
    heads: Heads, graph: ModuleGraph, inner: tuple[Step, ...], product: Step
) -> _Product | None:
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
        path = projection.path
        tables = [name for name in projection.node.reads if not name.startswith(f"{path}.")]
        table = heads.view.parameter_shape(next(iter(tables), ""))
        return _Product(
            "key" if is_key else "query",
            layer,
            path,
            # Not all rows of a table may be read.
            table[0] if table else prod(projection.node.shape) // layer.outputs,
            before is not None and before.operation == "add",
        )
    return None


def _transformer_xl(heads: Heads, product: _Product, factor: float) -> Variant:
    """Return the product of queries and distances as a bias (Transformer-XL, XLNet)."""
    query = f"({_QUERY_ROW} + v_h)" if product.added else _QUERY_ROW
    text = scaled(Expression(f"{query} dot {_FAR_KEY}", PRODUCT), factor, heads.size).text
    projected = product.layer.maths("R", _INDEX_K, sizes=False)
    return Variant(
        lines=(f'b_(h, i j) = {text}, quad K^"rel" = {projected}',),
        terms=(
            Term(
                "B_h",
                "bias of head h for the distance from position j to position i, with elements b",
            ),
            Term("R", "one vector for each distance", f"[{product.rows}, {product.layer.inputs}]"),
            *product.layer.terms("the projection of distances to keys", _INDEX_K),
            Term(_QUERY_ROW, "row of a position in the queries of head h"),
            Term(_FAR_KEY, "row of a distance in K^rel: its columns of head h"),
            Term(
                "v_h", "learnt vector of head h, added to queries that meet distances", "[{size}]"
            ),
        ),
        values={
            "explained": "Relative positions: a score is the product of a query with the key "
            "(content) plus its product with the projected vector of the distance (position). "
            "u and v replace the query’s own position, as no absolute positions exist.",
            "bias_source": "distances: Dai et al. 2019 (Transformer-XL), section 3.3",
        },
    )


_COMPARED = {
    "query": (
        *("key", "keys", "what each distance is matched by"),
        f'{_QUERY_ROW} dot bold(k)_(h, {ROW}(i - j))^"rel"',
        "content to position (the token’s query with the key of the distance)",
    ),
    "key": (
        *("query", "queries", "what each distance looks for"),
        f'{_KEY_ROW} dot bold(q)_(h, {ROW}(i - j))^"rel"',
        "position to content (the other token’s key with the query of the distance)",
    ),
}
"""By the other factor: singular, plural and purpose of distances, the product, its kind."""


def _deberta(heads: Heads, found: Mapping[str, _Product]) -> Variant:
    """Return the products that compare content and distance separately (He et al. 2021)."""
    rows, width, count = next(iter(found.values())).rows, heads.query.layer.inputs, 1 + len(found)
    terms = [Term("R", "one vector for each distance, from the encoder", f"[{rows}, {width}]")]
    summands, kinds = [f"{_QUERY_ROW} dot {_KEY_ROW}"], ["content to content"]
    made, purposes = list[str](), dict[str, str]()
    weights: list[str] = []
    for role in (role for role in _COMPARED if role in found):
        one, many, what, summand, kind = _COMPARED[role]
        each, letter = found[role], ROLES[one]
        index = f'"{letter},rel"'
        if f"{each.path.rpartition('.')[2]}.weight" == heads.projections[one].holder:
            index = letter
            weights.insert(0, f"W_{letter}")
        else:
            terms += each.layer.terms(f"the projection of distances to {many}", index)
            purposes[each.path] = f"Computes the {many} of relative distances: {what}."
        projected = each.layer.maths(sized("R", rows, width), index, sizes=False)
        made.append(f'{letter}^"rel" = {projected}')
        shape = f"[{rows}, {each.layer.outputs}]"
        terms.append(Term(f'{letter}^"rel"', f"{many} of the distances", shape))
        summands.append(summand)
        kinds.append(kind)
    buckets = heads.view.integer("position_buckets") or 0
    far = f", and distances greater than {buckets // 2} may share a row with others"
    is_unplaced = heads.view.config.get("position_biased_input") is False
    unplaced = " No position vectors are added to the token vectors." if is_unplaced else ""
    return Variant(
        lines=(
            ", quad ".join(made),
            f"z_(h, i j) = ({' + '.join(summands)}) / sqrt({count} dot {heads.size})",
        ),
        terms=(
            Term(
                f"{_QUERY_ROW}, {_KEY_ROW}", "rows of a position in the queries and keys of head h"
            ),
            Term(ROW, "row of a distance", f"0 to {rows - 1}"),
        ),
        values={
            "manner": "Disentangled",
            "reach": "all positions of the same sequence, comparing content with content and "
            "content with distance,",
            "is_usual": False,
            "scaling": None,
            "same_columns": None,
            "rows": rows,
            "middle": rows // 2,
            "terms": count,
            "kinds": "; ".join(kinds),
            "unplaced": f".{unplaced}",
            "far": f"{far if buckets > 0 else ''}.",
            "weights": " and ".join(weights),
            "bias_source": "disentangled: He et al. 2021 (DeBERTa), section 3.1, equation 4",
        },
        keys=heads.view.config_keys("distances"),
        scores="Z_h",
        layer_terms=tuple(terms),
        purposes=purposes,
    )
