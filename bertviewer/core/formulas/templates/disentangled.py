"""Disentangled attention: content and distance are compared separately (DeBERTa)."""

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import SOFTMAX, TOKENS, indices, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.templates.attention_maths import output_lines, projection_lines
from bertviewer.core.formulas.templates.attention_texts import (
    DROPOUT,
    HEAD,
    INPUT,
    MIXING,
    PROBABILITIES,
    WHERE,
    layer_terms,
    legend,
    values_of,
)
from bertviewer.core.formulas.templates.heads import Heads, sole_heads
from bertviewer.core.formulas.templates.position_scores import PositionProduct, products_of
from bertviewer.core.formulas.templates.template import Match, Template

_USES = {"query": "keys", "key": "queries"}
"""What the distances are in a product with queries or keys."""
_KINDS = {
    "query": "content to position (the token’s query with the key of the distance)",
    "key": "position to content (the other token’s key with the query of the distance)",
}
_ROW = Term("b(i - j)", "row of this distance", "0 to {last}")
_SUMMANDS = {
    "query": "Q_(h, i) dot K^r_(h, b(i - j))",
    "key": "K_(h, j) dot Q^r_(h, b(i - j))",
}


def _disentangled(view: ModuleView) -> Match | None:
    heads = sole_heads(view)
    found = () if heads is None else products_of(heads)
    if heads is None or not any(each.is_gathered for each in found):
        return None
    products = sorted(found, key=lambda each: each.role != "query")
    rows, count = products[0].rows, 1 + len(products)
    kinds = view.config.get("pos_att_type")
    divisor = 1 + (len(kinds) if isinstance(kinds, list | tuple) else len(products))
    shared = {each.role: _is_shared(heads, each) for each in products}
    made, terms = [], []
    for each in products:
        use, letter = _USES[each.role], _USES[each.role][0].upper()
        index = letter if shared[each.role] else f'"{letter},r"'
        text = each.layer.maths(sized("R", rows, heads.width), index, sizes=False)
        made.append(f"{letter}^r = {text}")
        if not shared[each.role]:
            terms += each.layer.terms(f"the projection of distances to {use}", index)
        shape = f"[{rows}, {each.layer.outputs}]"
        terms.append(Term(f"{letter}^r", f"{use} of the distances", shape))
    summands = ["Q_(h, i) dot K_(h, j)", *(_SUMMANDS[each.role] for each in products)]
    lines = (
        *projection_lines(heads),
        ", quad ".join(made),
        f"A_(h, i j) = ({' + '.join(summands)}) / sqrt({divisor} dot {heads.size})",
        f"{sized('P_h', 'S', 'S')} = {SOFTMAX} (A_h + M), quad "
        f"{sized('O_h', 'S', heads.size)} = P_h V_h, quad h = {indices(heads.count)}",
        *output_lines(heads),
    )
    buckets = view.integer("position_buckets") or 0
    is_unplaced = view.config.get("position_biased_input") is False
    weights = [f"W_{_USES[role][0].upper()}" for role, is_shared in shared.items() if is_shared]
    values = values_of(heads, {}) | {
        "rows": rows,
        "last": rows - 1,
        "middle": rows // 2,
        "terms": count,
        "kinds": "; ".join(("content to content", *(_KINDS[each.role] for each in products))),
        "unplaced": "." + (" No position vectors are added to the token vectors." * is_unplaced),
        "is_divided": divisor == count,
        "far": f", and distances greater than {buckets // 2} may share a row with others."
        if buckets > 0
        else ".",
        "weights": " and ".join(reversed(weights)),
    }
    return Match(
        lines,
        (
            *(TOKENS, *legend((INPUT,), lines, values), *layer_terms(heads.parts)),
            Term("R", "distance vectors, from the encoder", f"[{rows}, {heads.width}]"),
            *terms,
            *legend((_ROW, HEAD, *PROBABILITIES), lines, values),
        ),
        values,
    )


def _is_shared(heads: Heads, product: PositionProduct) -> bool:
    """Return whether tokens and distances are projected with the same weight."""
    own = heads.key if product.role == "query" else heads.query
    return product.path.rpartition(".")[2] == own.holder


DISENTANGLED = Template(
    "self-attention",
    _disentangled,
    title="Disentangled self-attention",
    summary="Every position attends to all positions of the same sequence, comparing content with "
    "content and content with distance, {in_heads}.",
    notes=(
        "A score is the sum of {terms} terms: {kinds}{unplaced}",
        Note(
            "Why divide by √({terms} × {size})? The dot product of two vectors of {size} entries "
            "with variance 1 has variance {size}, and {terms} such products are added.",
            "is_divided",
        ),
        "R has {rows} rows, for distances in both directions: row {middle} is for distance 0{far}",
        "The distances are projected with the same {weights} as the tokens, not with separate "
        "weights.",
        WHERE,
        MIXING,
        DROPOUT,
    ),
    keys=("width", "heads", "attention dropout", "distances"),
    source="He et al. 2021 (DeBERTa), section 3.1, equation 4; Vaswani et al. 2017, section 3.2",
)
