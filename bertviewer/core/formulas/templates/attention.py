"""The formula of multi-head attention, whatever module it was read from."""

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import Norm
from bertviewer.core.formulas.notation import (
    RMS_NORM,
    ROTATION,
    SOFTMAX,
    TOKENS,
    Affine,
    indices,
    listing,
    number_maths,
    sized,
)
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text


@frozen
class Distances:
    """A learnt bias on the scores by how far apart two positions are (T5, MPNet).

    ``table`` is the shape [buckets, heads]; ``holder`` says in words where it is, if elsewhere.
    ``buckets`` counts those that the code knows, if that does not follow from the table.
    """

    table: tuple[int, ...]
    furthest: int
    both_ways: bool
    holder: str = ""
    buckets: int | None = None

    @property
    def in_use(self) -> int:
        """How many buckets the distances are put into."""
        return self.buckets or self.table[0]


@frozen
class Heads:
    """What an attention module is made of, however it stores it.

    ``where`` says in plain words where head 0 to the last find their part of the three weights.
    ``scale`` is the factor on the scores, ``None`` for the usual 1 / sqrt(d_k); ``unscaled`` says
    why there is none. ``key_heads`` counts the heads of keys and values where several queries
    share one; ``rotated`` says that queries and keys turn with their position, and values if
    ``rotated_values`` does, by the angles that the module ``angles`` gives; ``window`` is how many
    positions back can be seen. ``added`` is mathematics that is added to the scores.
    """

    query: Affine
    key: Affine
    value: Affine
    count: int
    size: int
    where: str
    output: Affine | None = None
    norm: Norm | None = None
    causal: bool | None = None
    cross: bool = False
    scale: float | None = None
    masked_by_caller: bool = False
    unscaled: str = ""
    key_heads: int | None = None
    rotated: bool = False
    rotated_values: bool = False
    angles: str = "rotary_emb"
    head_norm: bool = False
    window: int | None = None
    distances: Distances | None = None
    added: str = ""

    @property
    def shared(self) -> int:
        """How many query heads share a head of keys and values."""
        return self.count // self.key_heads if self.key_heads else 1

    @property
    def parallel(self) -> str:
        """How many heads attend, in words."""
        return count_text(self.count, "in one head", "in {0} heads in parallel")

    @property
    def key_index(self) -> str:
        """The index of the keys and values that query head h meets."""
        return "h" if self.shared == 1 else "(g(h))"


def attention_formula(
    view: ModuleView, heads: Heads, notes: tuple[str, ...], source: str
) -> Formula:
    """Scaled dot-product attention in several heads (Vaswani et al. 2017, section 3.2)."""
    kind = "cross-attention" if heads.cross else "self-attention"
    after = " with add & norm" if heads.norm else ""
    whom = "the positions of the encoder’s output" if heads.cross else _reach(heads)
    manner = "Multi-head" if heads.shared == 1 else "Grouped-query"
    return Formula(
        title=f"{manner} {kind}{after}",
        summary=f"Every position attends to {whom} and forms a weighted mean of their values, "
        f"{heads.parallel}.",
        maths=_maths(heads),
        terms=_terms(heads),
        notes=notes,
        config_keys=_keys(view, heads),
        source=source,
    )


def _reach(heads: Heads) -> str:
    """Return the positions of its own sequence that a position attends to, in words."""
    if heads.window or heads.causal is None:
        return "positions of the same sequence"
    return (
        "itself and all earlier positions" if heads.causal else "all positions of the same sequence"
    )


def _keys(view: ModuleView, heads: Heads) -> tuple[str, ...]:
    choices = ["width", "heads", "key/value heads", "head size"]
    choices += ["attention dropout", "decoder", "scale"]
    choices += ["epsilon"] if heads.norm or heads.head_norm else []
    choices += ["rotation"] if heads.rotated else []
    choices += ["window"] if heads.window else []
    choices += ["distances"] if heads.distances else []
    return view.keys(*choices)


def _maths(heads: Heads) -> tuple[str, ...]:
    other = 'X_"enc"' if heads.cross else "X"
    lines = [
        f"{sized('Q', 'S', heads.query.outputs)} = "
        f"{heads.query.maths(sized('X', 'S', heads.query.inputs), 'Q')}",
        f"{_projected('K', heads.key, other, heads)}, quad "
        f"{_projected('V', heads.value, other, heads)}",
        *_weighted(heads),
        f"h = {indices(heads.count)}{_values(heads)}",
    ]
    if heads.distances is not None:
        lines.append('B_(h, i j) = W_"rel" [b(j - i), h]')
    joined = f'op("Concat")({listing("O_{}", heads.count)})'
    if heads.output is None:
        lines.append(f"{sized('Y', 'S', heads.query.outputs)} = {joined}")
        return tuple(lines)
    lines.append(f"{sized('O', 'S', heads.output.inputs)} = {joined}")
    projected = heads.output.maths("O", "O")
    if heads.norm:
        projected = f"{heads.norm.operator}(X + {projected})"
    lines.append(f"{sized('Y', 'S', heads.output.outputs)} = {projected}")
    return tuple(lines)


def _projected(letter: str, layer: Affine, other: str, heads: Heads) -> str:
    """Return the line of keys or values, with sizes where they differ from the queries'."""
    sizes = heads.shared > 1
    result = sized(letter, "S", layer.outputs) if sizes else letter
    return f"{result} = {layer.maths(other, letter, sizes=sizes)}"


def _weighted(heads: Heads) -> tuple[str, ...]:
    """Return the probabilities and what they weight: one line is too narrow for a long score."""
    source = "S'" if heads.cross else "S"
    probabilities = f"{sized('P_h', 'S', source)} = {SOFTMAX} ({_scores(heads)} + M)"
    value = f"V_{heads.key_index}"
    value = f"{ROTATION}({value})" if heads.rotated_values else value
    output = f"{sized('O_h', 'S', heads.size)} = P_h {value}"
    if heads.head_norm:
        return (probabilities, output)
    return (f"{probabilities}, quad {output}",)


def _scores(heads: Heads) -> str:
    """Return what goes into the softmax, but for the mask."""
    query, key = "Q_h", f"K_{heads.key_index}"
    if heads.head_norm:
        query, key = f"{RMS_NORM}({query})", f"{RMS_NORM}({key})"
    if heads.rotated:
        query, key = f"{ROTATION}({query})", f"{ROTATION}({key})"
    score = f"{query} {key}^top"
    if heads.scale is None:
        score = f"({score}) / sqrt(d_k)"
    elif heads.scale != 1.0:
        score = f"c thin {score}"
    added = "B_h" if heads.distances else heads.added
    return f"{score} + {added}" if added else score


def _values(heads: Heads) -> str:
    """Return the small definitions that follow the range of h."""
    values = ""
    if heads.shared > 1:
        values += f", quad g(h) = floor(h \\/ {heads.shared})"
    if heads.scale is None:
        values += f", quad d_k = {heads.size}"
    elif heads.scale != 1.0:
        values += f", quad c = {number_maths(heads.scale)}"
    return values


def _terms(heads: Heads) -> tuple[Term, ...]:
    head = f"[S, {heads.size}]"
    terms = [
        TOKENS,
        Term("X", "input, one row per position", f"[S, {heads.query.inputs}]"),
    ]
    if heads.cross:
        terms.append(Term('X_"enc"', "the encoder’s output", f"[S', {heads.key.inputs}]"))
        terms.append(Term("S'", "number of source tokens"))
    terms += heads.query.terms("the query projection", "Q")
    terms += heads.key.terms("the key projection", "K")
    terms += heads.value.terms("the value projection", "V")
    terms.append(
        Term(
            "h", "index of the head, counted from 0", count_text(heads.count, "1 head", "{0} heads")
        )
    )
    if heads.shared > 1:
        terms += [
            Term("Q_h", f"the {heads.size} columns of head h in Q", head),
            Term(
                "g(h)",
                "key/value head that query head h uses",
                count_text(heads.key_heads or 1, "1 head", "{0} heads"),
            ),
            Term("K_(g(h)), V_(g(h))", f"the {heads.size} columns of this head in K and V", head),
        ]
    else:
        columns = f"the {heads.size} columns of head h in Q, K and V"
        terms.append(Term("Q_h, K_h, V_h", columns, head))
    if heads.head_norm:
        size = f"[{heads.size}]"
        terms.append(Term(RMS_NORM, "root-mean-square normalisation of each head’s vectors", size))
    if heads.rotated:
        turned = "rotates pairs of features by an angle that grows with the position"
        terms.append(Term(ROTATION, f"{turned}; no parameters"))
    if heads.distances is not None:
        terms += _distance_terms(heads.distances)
    terms += [
        Term("M", _mask(heads)),
        Term("P_h", "attention probabilities of head h; each row sums to 1"),
        Term("O_h", "output of head h", head),
    ]
    if heads.scale is None:
        text = "head size; the scores are divided by its square root"
        terms.append(Term("d_k", text, str(heads.size)))
    elif heads.scale != 1.0:
        text = "factor applied to the scores instead of 1/√d_k"
        terms.append(Term("c", text, f"{heads.scale:g}"))
    if heads.output is not None:
        terms += heads.output.terms("the output projection", "O")
    if heads.norm:
        terms += heads.norm.terms
    return tuple(terms)


def _distance_terms(distances: Distances) -> tuple[Term, ...]:
    rows, heads = distances.table
    return (
        Term("B_h", "bias of head h for the distance from position i to position j"),
        Term('W_"rel"', "learnt: one row per bucket, one column per head", f"[{rows}, {heads}]"),
        Term("b(j - i)", "bucket of this distance", f"0 to {distances.in_use - 1}"),
    )


def _mask(heads: Heads) -> str:
    if heads.masked_by_caller:
        hidden = "chosen by the caller"
        if not heads.cross:
            hidden += "; in a decoder, later positions"
    else:
        # Not traced yet, or not traceable: the words hold either way.
        unknown = "padding and, in a decoder, all later positions"
        hidden = unknown if heads.causal is None else "padding"
        hidden = "padding and all later positions" if heads.causal else hidden
        if heads.window:
            hidden += f", and positions {heads.window} or more away"
    return (
        "mask: 0 at visible positions, a large negative number (in effect −∞) at masked ones "
        f"({hidden}), so that softmax gives them probability 0"
    )
