"""DeBERTa's attention: what a token says and how far away it is are compared apart."""

from bertviewer.core.formulas.attention import head_counts, separate
from bertviewer.core.formulas.attention_maths import Heads
from bertviewer.core.formulas.attention_notes import attention_notes
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import SOFTMAX, TOKENS, Affine, indices, listing, sized
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text

_C2P, _P2C = "c2p", "p2c"
_USES = {_C2P: "keys", _P2C: "queries"}


@frozen
class _Parts:
    """What a score is made of: the heads, the kinds of scores by distance, and their layers.

    ``span`` counts the rows of R for one direction, ``divisor`` the d_k that the root is taken of.
    ``far`` holds the layer of each kind that the distances go through, and its index.
    """

    heads: Heads
    kinds: tuple[str, ...]
    span: int
    divisor: int
    far: dict[str, tuple[Affine, str]]
    talks: bool

    @property
    def width(self) -> int:
        """The features of a token."""
        return self.heads.query.inputs


def disentangled_attention(view: ModuleView) -> Formula:
    """DeBERTa's attention in both versions (He et al. 2021, section 3.1, equation 4)."""
    parts = _first(view) if "in_proj" in view.children else _second(view)
    what = ", comparing content with content and content with distance" if parts.kinds else ""
    talking = "; talking heads: Shazeer et al. 2020" if parts.talks else ""
    return Formula(
        title="Disentangled self-attention",
        summary=f"Every position attends to all positions of the same sequence{what}, "
        f"{parts.heads.parallel}.",
        maths=_maths(parts),
        terms=_terms(parts),
        notes=_notes(view, parts),
        config_keys=view.keys("width", "heads", "attention dropout", "distances"),
        source="He et al. 2021 (DeBERTa), section 3.1, equation 4; Vaswani et al. 2017, section "
        f"3.2{talking}",
    )


def _first(view: ModuleView) -> _Parts:
    """Read the first version: one tensor holds the three weights, and keys have no bias."""
    stored = view.affine("in_proj")
    count, size = head_counts(view, stored.outputs // 3)
    shape = (stored.outputs // 3, stored.inputs)
    biased = Affine(shape, bias=True)
    heads = Heads(
        query=biased,
        key=Affine(shape, bias=False),
        value=biased,
        count=count,
        size=size,
        where=f"in_proj.weight stacks the heads, {3 * size} rows each: the first {size} are the "
        "head’s rows of W_Q, the next those of W_K, the last those of W_V.",
    )
    far = {_C2P: ("pos_proj", '"K,r"'), _P2C: ("pos_q_proj", '"Q,r"')}
    kinds = _kinds(view)
    return _Parts(
        heads,
        kinds,
        view.integer("max_relative_positions") or 0,
        1 + len(view.config.get("pos_att_type") or ()),
        {kind: (view.affine(far[kind][0]), far[kind][1]) for kind in kinds},
        talks="head_logits_proj" in view.children,
    )


def _second(view: ModuleView) -> _Parts:
    """Read the second version: a layer each, which the distances may share."""
    heads = separate(view, ("query_proj", "key_proj", "value_proj"), None)
    named = [kind for kind in (_C2P, _P2C) if kind in (view.config.get("pos_att_type") or ())]
    kinds = _kinds(view)
    span = view.integer("pos_ebd_size") or 0
    far = {kind: _far_layer(view, heads, kind) for kind in kinds}
    return _Parts(heads, kinds, span, 1 + len(named), far, talks=False)


def _kinds(view: ModuleView) -> tuple[str, ...]:
    if not view.attribute("relative_attention"):
        return ()
    given = view.config.get("pos_att_type") or ()
    return tuple(kind for kind in (_C2P, _P2C) if kind in given)


def _far_layer(view: ModuleView, heads: Heads, kind: str) -> tuple[Affine, str]:
    """Return the layer that the distances go through, and its index in the formula."""
    if kind == _C2P:
        own = "pos_key_proj" in view.children
        return (view.affine("pos_key_proj"), '"K,r"') if own else (heads.key, "K")
    own = "pos_query_proj" in view.children
    return (view.affine("pos_query_proj"), '"Q,r"') if own else (heads.query, "Q")


def _maths(parts: _Parts) -> tuple[str, ...]:
    heads = parts.heads
    lines = [
        f"{sized('Q', 'S', heads.query.outputs)} = "
        f"{heads.query.maths(sized('X', 'S', parts.width), 'Q')}",
        f"K = {heads.key.maths('X', 'K', sizes=False)}, quad "
        f"V = {heads.value.maths('X', 'V', sizes=False)}",
    ]
    table = sized("R", 2 * parts.span, parts.width)
    distances = []
    for kind, (layer, index) in parts.far.items():
        target = "K^r" if kind == _C2P else "Q^r"
        distances.append(f"{target} = {layer.maths(table, index, sizes=False)}")
    if distances:
        lines.append(", quad ".join(distances))
    summands = ["Q_(h, i) dot K_(h, j)"]
    summands += ["Q_(h, i) dot K^r_(h, b(i - j))"] if _C2P in parts.kinds else []
    summands += ["K_(h, j) dot Q^r_(h, b(i - j))"] if _P2C in parts.kinds else []
    total = " + ".join(summands)
    root = f"{parts.divisor} dot {heads.size}"
    lines.append(f"A_(h, i j) = ({total}) / sqrt({root})")
    if parts.talks:
        lines += [
            f"A'_h = sum_(g=0)^({heads.count - 1}) T_(h, g) A_g, quad P'_h = {SOFTMAX} (A'_h + M)",
            f"{sized('P_h', 'S', 'S')} = sum_(g=0)^({heads.count - 1}) U_(h, g) P'_g",
        ]
    else:
        lines.append(f"{sized('P_h', 'S', 'S')} = {SOFTMAX} (A_h + M)")
    output = f"{sized('O_h', 'S', heads.size)} = P_h V_h, quad h = {indices(heads.count)}"
    if not parts.talks:
        output = f"{lines.pop()}, quad {output}"
    joined = f'op("Concat")({listing("O_{}", heads.count)})'
    return (*lines, output, f"{sized('Y', 'S', heads.query.outputs)} = {joined}")


def _terms(parts: _Parts) -> tuple[Term, ...]:
    heads, rows = parts.heads, 2 * parts.span
    terms = [TOKENS, Term("X", "input, one row per position", f"[S, {parts.width}]")]
    terms += heads.query.terms("the query projection", "Q")
    terms += heads.key.terms("the key projection", "K")
    terms += heads.value.terms("the value projection", "V")
    if parts.kinds:
        table = f"[{rows}, {parts.width}]"
        terms.append(Term("R", "distance vectors, from the encoder", table))
    for kind, (layer, index) in parts.far.items():
        use = _USES[kind]
        if index not in ("K", "Q"):
            terms += layer.terms(f"the projection of distances to {use}", index)
        result = f"[{rows}, {layer.outputs}]"
        terms.append(Term(f"{use[0].upper()}^r", f"{use} of the distances", result))
    if parts.kinds:
        terms.append(Term("b(i - j)", "row of this distance", f"0 to {rows - 1}"))
    if parts.talks:
        square = f"[{heads.count}, {heads.count}]"
        terms += [
            Term("T", "weight of head_logits_proj: mixes the heads’ scores", square),
            Term("U", "weight of head_weights_proj: mixes the heads’ probabilities", square),
        ]
    sums = "; each row sums to 1" if not parts.talks else ", mixed"
    return (
        *terms,
        Term(
            "h", "index of the head, counted from 0", count_text(heads.count, "1 head", "{0} heads")
        ),
        Term("M", "mask: 0 at visible positions, the smallest representable number at masked ones"),
        Term("P_h", f"attention probabilities of head h{sums}"),
        Term("O_h", "output of head h", f"[S, {heads.size}]"),
    )


def _notes(view: ModuleView, parts: _Parts) -> tuple[str, ...]:
    size, count = parts.heads.size, 1 + len(parts.kinds)
    said = {
        _C2P: "content to position (the token’s query with the key of the distance)",
        _P2C: "position to content (the other token’s key with the query of the distance)",
    }
    unplaced = view.config.get("position_biased_input") is False
    listed = ["content to content", *(said[kind] for kind in parts.kinds)]
    notes = []
    if parts.kinds:
        notes.append(
            f"A score is the sum of {count} terms: {'; '.join(listed)}."
            + (" No position vectors are added to the token vectors." if unplaced else "")
        )
    if parts.divisor == count:
        notes.append(
            f"Why divide by √({count} × {size})? The dot product of two vectors of {size} entries "
            f"with variance 1 has variance {size}, and {count} such products are added."
            if count > 1
            else f"Why divide by √{size}? The dot product of two vectors of {size} entries with "
            f"variance 1 has variance {size}."
        )
    if parts.kinds:
        notes.append(
            f"R has {2 * parts.span} rows, for distances in both directions: row {parts.span} is "
            f"for distance 0{_sharing(view)}."
        )
    if parts.kinds and view.attribute("share_att_key") is True:
        weights = " and ".join("W_Q" if kind == _P2C else "W_K" for kind in reversed(parts.kinds))
        notes.append(
            f"The distances are projected with the same {weights} as the tokens, not with "
            "separate weights."
        )
    return (*notes, *attention_notes(parts.heads)[1:])


def _sharing(view: ModuleView) -> str:
    """Say from where on distances share rows; without buckets, none of a sequence's do."""
    buckets = view.integer("position_buckets") or 0
    if buckets <= 0:
        return ""
    return f", and distances greater than {buckets // 2} may share a row with others"
