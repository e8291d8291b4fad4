"""Disentangled attention: content and distance are compared separately (DeBERTa)."""

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import SOFTMAX, TOKENS, indices, listing, sized
from bertviewer.core.formulas.templates.attention_notes import (
    DROPOUT_OF_PROBABILITIES,
    mixing_note,
    where_notes,
)
from bertviewer.core.formulas.templates.heads import Heads
from bertviewer.core.formulas.templates.position_scores import PositionProduct
from bertviewer.core.text.numerals import count_text

_USES = {"query": "keys", "key": "queries"}
"""What the distances are in a product with queries or keys."""


def disentangled_formula(heads: Heads, products: tuple[PositionProduct, ...]) -> Formula | None:
    """DeBERTa's attention in both versions (He et al. 2021, section 3.1, equation 4)."""
    ordered = tuple(sorted(products, key=lambda each: each.role != "query"))
    return Formula(
        title="Disentangled self-attention",
        summary="Every position attends to all positions of the same sequence"
        f"{', comparing content with content and content with distance' if products else ''}, "
        f"{count_text(heads.count, 'in one head', 'in {0} heads in parallel')}.",
        maths=_maths(heads, ordered),
        terms=_terms(heads, ordered),
        notes=_notes(heads, ordered),
        config_keys=heads.view.keys("width", "heads", "attention dropout", "distances"),
        source="He et al. 2021 (DeBERTa), section 3.1, equation 4; Vaswani et al. 2017, section "
        f"3.2{'; talking heads: Shazeer et al. 2020' if any(heads.scores.mixers) else ''}",
    )


def _divisor(view: ModuleView, products: tuple[PositionProduct, ...]) -> int:
    """Return how many kinds of scores the root is scaled for, by the configuration."""
    kinds = view.config.get("pos_att_type")
    return 1 + (len(kinds) if isinstance(kinds, list | tuple) else len(products))


def _index(heads: Heads, product: PositionProduct) -> str:
    """Return the index of the layer that distances are projected with."""
    letter = _USES[product.role][0].upper()
    return letter if _is_shared(heads, product) else f'"{letter},r"'


def _is_shared(heads: Heads, product: PositionProduct) -> bool:
    """Return whether tokens and distances are projected with the same weight."""
    own = heads.key if product.role == "query" else heads.query
    return product.path.rpartition(".")[2] == own.holder


def _maths(heads: Heads, products: tuple[PositionProduct, ...]) -> tuple[str, ...]:
    query, key, value = heads.query.layer, heads.key.layer, heads.value.layer
    if not query or not key or not value:
        return ()
    lines = [
        f"{sized('Q', 'S', query.outputs)} = {query.maths(sized('X', 'S', query.inputs), 'Q')}",
        f"K = {key.maths('X', 'K', sizes=False)}, quad V = {value.maths('X', 'V', sizes=False)}",
    ]
    distances = [
        f"{_USES[each.role][0].upper()}^r = "
        f"{each.layer.maths(sized('R', each.rows, query.inputs), _index(heads, each), sizes=False)}"
        for each in products
    ]
    lines += [", quad ".join(distances)] if products else []
    summands = ["Q_(h, i) dot K_(h, j)"]
    for each in products:
        token = "Q_(h, i) dot K^r" if each.role == "query" else "K_(h, j) dot Q^r"
        summands.append(f"{token}_(h, b(i - j))")
    root = f"{_divisor(heads.view, products)} dot {heads.size}"
    output = f"{sized('O_h', 'S', heads.size)} = P_h V_h, quad h = {indices(heads.count)}"
    lines.append(f"A_(h, i j) = ({' + '.join(summands)}) / sqrt({root})")
    if all(heads.scores.mixers):
        total = f"sum_(g=0)^({heads.count - 1})"
        lines += [
            f"A'_h = {total} T_(h, g) A_g, quad P'_h = {SOFTMAX} (A'_h + M)",
            f"{sized('P_h', 'S', 'S')} = {total} U_(h, g) P'_g",
            output,
        ]
    else:
        lines.append(f"{sized('P_h', 'S', 'S')} = {SOFTMAX} (A_h + M), quad {output}")
    lines += [
        f'{sized("Y", "S", query.outputs)} = op("Concat")({listing("O_{}", heads.count)})',
    ]
    return tuple(lines)


def _terms(heads: Heads, products: tuple[PositionProduct, ...]) -> tuple[Term, ...]:
    rows, width = products[0].rows if products else 0, heads.width
    terms = [TOKENS, Term("X", "input, one row per position", f"[S, {width}]")]
    for role, letter in (("query", "Q"), ("key", "K"), ("value", "V")):
        layer = heads.parts[role].layer
        assert layer is not None
        terms += layer.terms(f"the {role} projection", letter)
    if products:
        terms.append(Term("R", "distance vectors, from the encoder", f"[{rows}, {width}]"))
    for each in products:
        use = _USES[each.role]
        if not _is_shared(heads, each):
            name = f"the projection of distances to {use}"
            terms += each.layer.terms(name, _index(heads, each))
        shape = f"[{rows}, {each.layer.outputs}]"
        terms.append(Term(f"{use[0].upper()}^r", f"{use} of the distances", shape))
    count = count_text(heads.count, "1 head", "{0} heads")
    sums = ", mixed" if all(heads.scores.mixers) else "; each row sums to 1"
    if all(heads.scores.mixers):
        square = f"[{heads.count}, {heads.count}]"
        logits, weights = heads.scores.mixers
        terms += [
            Term("T", f"weight of {logits}: mixes the heads’ scores", square),
            Term("U", f"weight of {weights}: mixes the heads’ probabilities", square),
        ]
    return (
        *terms,
        *((Term("b(i - j)", "row of this distance", f"0 to {rows - 1}"),) if products else ()),
        Term("h", "index of the head, counted from 0", count),
        Term("M", "mask: 0 at visible positions, the smallest representable number at masked ones"),
        Term("P_h", f"attention probabilities of head h{sums}"),
        Term("O_h", "output of head h", f"[S, {heads.size}]"),
    )


def _notes(heads: Heads, products: tuple[PositionProduct, ...]) -> tuple[str, ...]:
    view, size, count = heads.view, heads.size, 1 + len(products)
    notes = list(_kinds_notes(view, products))
    if _divisor(view, products) == count:
        notes.append(
            f"Why divide by √({count} × {size})? The dot product of two vectors of {size} entries "
            f"with variance 1 has variance {size}, and {count} such products are added."
            if count > 1
            else f"Why divide by √{size}? The dot product of two vectors of {size} entries with "
            f"variance 1 has variance {size}."
        )
    if products:
        rows = products[0].rows
        notes.append(
            f"R has {rows} rows, for distances in both directions: row {rows // 2} is "
            f"for distance 0{_sharing(view)}."
        )
    shared = [each for each in products if _is_shared(heads, each)]
    if shared:
        weights = " and ".join(
            "W_K" if each.role == "query" else "W_Q" for each in reversed(shared)
        )
        notes.append(
            f"The distances are projected with the same {weights} as the tokens, not with "
            "separate weights."
        )
    mixing = () if heads.output is not None else (mixing_note(view),)
    return (*notes, *where_notes(heads), *mixing, DROPOUT_OF_PROBABILITIES)


def _kinds_notes(view: ModuleView, products: tuple[PositionProduct, ...]) -> tuple[str, ...]:
    kinds = {
        "query": "content to position (the token’s query with the key of the distance)",
        "key": "position to content (the other token’s key with the query of the distance)",
    }
    if not products:
        return ()
    listed = ["content to content", *(kinds[each.role] for each in products)]
    unplaced = view.config.get("position_biased_input") is False
    return (
        f"A score is the sum of {len(listed)} terms: {'; '.join(listed)}."
        + (" No position vectors are added to the token vectors." if unplaced else ""),
    )


def _sharing(view: ModuleView) -> str:
    """Say from where on distances share rows; without buckets, none of a sequence's do."""
    buckets = view.integer("position_buckets") or 0
    if buckets <= 0:
        return ""
    return f", and distances greater than {buckets // 2} may share a row with others"
