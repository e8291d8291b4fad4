"""DeBERTa's attention: what a token says and how far away it is are compared apart."""

from bertviewer.core.formulas.attention import separate
from bertviewer.core.formulas.attention_maths import Heads
from bertviewer.core.formulas.attention_notes import attention_notes
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import SOFTMAX, TOKENS, Affine, indices, listing, sized
from bertviewer.core.formulas.subject import Subject
from bertviewer.core.numerals import count_text

_C2P, _P2C = "c2p", "p2c"


def disentangled_attention(subject: Subject) -> Formula:
    """DeBERTa's attention in its second version (He et al. 2021, section 3.1, equation 4)."""
    heads = separate(subject, ("query_proj", "key_proj", "value_proj"), None)
    if not subject.attribute("relative_attention"):
        raise LookupError("attention without distances")
    kinds = [k for k in (_C2P, _P2C) if k in (subject.config.get("pos_att_type") or ())]
    span = subject.integer("pos_ebd_size") or 0
    count = len(kinds) + 1
    return Formula(
        role="self-attention",
        title="Disentangled self-attention",
        summary="Each position looks at the sequence itself, comparing contents with contents and "
        f"contents with distances, {heads.parallel}.",
        maths=_maths(subject, heads, kinds, span, count),
        terms=_terms(subject, heads, kinds, span),
        notes=_notes(subject, heads, kinds, span, count),
        config_keys=subject.keys("width", "heads", "attention dropout", "distances"),
        source="He et al. 2021 (DeBERTa), section 3.1, equation 4; Vaswani et al. 2017, section "
        "3.2",
    )


def _maths(
    subject: Subject, heads: Heads, kinds: list[str], span: int, count: int
) -> tuple[str, ...]:
    width = heads.query.inputs
    lines = [
        f"{sized('Q', 'S', heads.query.outputs)} = "
        f"{heads.query.maths(sized('X', 'S', width), 'Q')}",
        f"K = {heads.key.maths('X', 'K', sizes=False)}, quad "
        f"V = {heads.value.maths('X', 'V', sizes=False)}",
    ]
    distances = []
    table = sized("R", 2 * span, width)
    for kind in kinds:
        layer, index = _projection(subject, heads, kind)
        target = "K^r" if kind == _C2P else "Q^r"
        distances.append(f"{target} = {layer.maths(table, index, sizes=False)}")
    if distances:
        lines.append(", quad ".join(distances))
    parts = ["Q_(h, i) dot K_(h, j)"]
    parts += ["Q_(h, i) dot K^r_(h, b(i - j))"] if _C2P in kinds else []
    parts += ["K_(h, j) dot Q^r_(h, b(i - j))"] if _P2C in kinds else []
    lines += [
        f"A_(h, i j) = ({' + '.join(parts)}) / sqrt({count} dot {heads.size})",
        f"{sized('P_h', 'S', 'S')} = {SOFTMAX} (A_h + M), quad "
        f"{sized('O_h', 'S', heads.size)} = P_h V_h, quad h = {indices(heads.count)}",
        f'{sized("Y", "S", heads.query.outputs)} = op("Concat")({listing("O_{}", heads.count)})',
    ]
    return tuple(lines)


def _projection(subject: Subject, heads: Heads, kind: str) -> tuple[Affine, str]:
    """Return the layer that the distances go through, and its index in the formula."""
    if kind == _C2P:
        own = "pos_key_proj" in subject.children
        return (subject.affine("pos_key_proj"), '"K,r"') if own else (heads.key, "K")
    own = "pos_query_proj" in subject.children
    return (subject.affine("pos_query_proj"), '"Q,r"') if own else (heads.query, "Q")


def _terms(subject: Subject, heads: Heads, kinds: list[str], span: int) -> tuple[Term, ...]:
    width = heads.query.inputs
    terms = [TOKENS, Term("X", "input, one row for each position", f"[S, {width}]")]
    terms += heads.query.terms("the queries", "Q")
    terms += heads.key.terms("the keys", "K")
    terms += heads.value.terms("the values", "V")
    if kinds:
        terms.append(
            Term("R", "vectors of the distances, from the encoder", f"[{2 * span}, {width}]")
        )
    for kind, letter in ((_C2P, "K"), (_P2C, "Q")):
        if kind not in kinds:
            continue
        layer, index = _projection(subject, heads, kind)
        if index not in ("K", "Q"):
            terms += layer.terms(f"the distances' {'keys' if kind == _C2P else 'queries'}", index)
        use = "keys" if kind == _C2P else "queries"
        terms.append(Term(f"{letter}^r", f"{use} of the distances", f"[{2 * span}, {width}]"))
    if kinds:
        terms.append(Term("b(i - j)", "the row of that distance", f"0 to {2 * span - 1}"))
    terms += [
        Term("h", "head, counted from 0", count_text(heads.count, "1 head", "{0} heads")),
        Term("M", "mask: 0 where a position may be looked at, the least number where not"),
        Term("P_h", "attention probabilities of head h; each row sums to 1"),
        Term("O_h", "output of head h", f"[S, {heads.size}]"),
    ]
    return tuple(terms)


def _notes(
    subject: Subject, heads: Heads, kinds: list[str], span: int, count: int
) -> tuple[str, ...]:
    said = {
        _C2P: "what the token looks for against how far away the other is",
        _P2C: "what the other is found by against how far away the token is",
    }
    unplaced = subject.config.get("position_biased_input") is False
    parts = ["content against content", *(said[kind] for kind in kinds)]
    notes = [
        f"A score is a sum of {count}: {'; '.join(parts)}."
        + (" No position vector is ever added to a token's vector." if unplaced else ""),
        f"Why divide by the root of {count} times {heads.size}: a product of two vectors of "
        f"{heads.size} entries with variance 1 has variance {heads.size}, and {count} such "
        "products are added.",
        f"R has {2 * span} rows, for the distances of both directions: row {span} is for "
        f"distance 0{_sharing(subject)}.",
    ]
    if subject.attribute("share_att_key") is True and kinds:
        weights = " and ".join("W_Q" if kind == _P2C else "W_K" for kind in reversed(kinds))
        notes.append(
            f"The distances go through the same {weights} as the tokens: no weights of their own."
        )
    return (*notes, *attention_notes(heads)[1:])


def _sharing(subject: Subject) -> str:
    """Say from where on distances share rows; without buckets, none of a sequence's do."""
    buckets = subject.integer("position_buckets") or 0
    if buckets <= 0:
        return ""
    return f", and distances of more than {buckets // 2} may share a row with others"
