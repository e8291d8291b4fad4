"""The symbols of an attention in heads."""

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.notation import (
    TOKENS,
    Affine,
)
from bertviewer.core.formulas.templates.attention_maths import (
    ROOT,
    Attention,
    head_norm,
    other_input,
    scores_maths,
)
from bertviewer.core.formulas.templates.heads import Heads, reads_encoder
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.position_scores import (
    PositionProduct,
)
from bertviewer.core.formulas.templates.rotation import rotation_term
from bertviewer.core.text.numerals import count_text


def attention_terms(attention: Attention) -> tuple[Term, ...]:
    """Return the terms of an attention, in the order of its lines."""
    heads = attention.heads
    terms = [TOKENS if heads.is_text else Term("S", "number of positions, without the batch")]
    terms += _input_terms(heads)
    for role, letter, what in (
        ("query", "Q", "the query projection"),
        ("key", "K", "the key projection"),
        ("value", "V", "the value projection"),
    ):
        terms += _layer_terms(heads.parts[role].layer, what, letter)
    terms += _head_terms(heads)
    terms += _change_terms(attention)
    if heads.is_masked:
        terms.append(Term("M", mask_meaning(heads, attention.window)))
    terms += [
        Term("P_h", _probability_meaning(heads)),
        Term("O_h", "output of head h", f"[S, {heads.value_size}]"),
    ]
    if ROOT in scores_maths(attention):
        text = "head size; the scores are divided by its square root"
        terms.append(Term("d_k", text, str(heads.size)))
    elif heads.first_scale not in (1, None):
        text = "factor applied to the scores instead of 1/√d_k"
        terms.append(Term("c", text, f"{heads.first_scale:g}"))
    terms += _layer_terms(heads.output, "the output projection", "O")
    if heads.residual and heads.residual != heads.query.source:
        terms.append(Term("R", "residual: the input of the sub-layer"))
    if heads.norm:
        terms += heads.norm.terms
    return tuple(terms)


def _probability_meaning(heads: Heads) -> str:
    if heads.scores.of("sinks"):
        return "attention probabilities of head h; with the sink’s, each row sums to 1"
    return "attention probabilities of head h; each row sums to 1"


def _layer_terms(layer: Affine | None, use: str, index: str) -> tuple[Term, ...]:
    return () if layer is None else layer.terms(use, index)


def _input_terms(heads: Heads) -> list[Term]:
    if heads.reads_given:
        return [Term("Q, K, V", "queries, keys and values, one row per position: the inputs")]
    terms = [Term("X", "input, one row per position", f"[S, {heads.width}]")]
    if heads.is_cross and heads.key.layer is not None:
        is_encoder = reads_encoder(heads)
        what = "the encoder’s output" if is_encoder else "the input of keys and values"
        terms.append(Term(other_input(heads), what, f"[S', {heads.key.layer.inputs}]"))
        terms.append(Term("S'", "number of source tokens" if is_encoder else "its positions"))
    if heads.value.source != heads.key.source and heads.value.layer is not None:
        terms.append(Term("X_V", "input of the values", f"[S, {heads.value.layer.inputs}]"))
    return terms


def _head_terms(heads: Heads) -> list[Term]:
    size, head = heads.size, f"[S, {heads.size}]"
    count = count_text(heads.count, "1 head", "{0} heads")
    terms = [Term("h", "index of the head, counted from 0", count)]
    if heads.shared == 1:
        columns = f"the {size} columns of head h in Q, K and V"
        terms.append(Term("Q_h, K_h, V_h", columns, head))
    elif heads.key_heads == 1:
        terms.append(Term("Q_h", f"the {size} columns of head h in Q", head))
    else:
        shared = count_text(heads.key_heads, "1 head", "{0} heads")
        terms += [
            Term("Q_h", f"the {size} columns of head h in Q", head),
            Term("g(h)", "key/value head that query head h uses", shared),
            Term("K_(g(h)), V_(g(h))", f"the {size} columns of this head in K and V", head),
        ]
    return terms


def _change_terms(attention: Attention) -> list[Term]:
    """Return the terms of what is done to queries, keys and scores."""
    heads, terms = attention.heads, []
    if (norm := head_norm(heads.query)) is not None:
        what = norm.meaning.replace("each position’s vector", "each head’s vectors")
        terms.append(Term(norm.operator, what, f"[{heads.size}]"))
    elif any(is_norm(step) for step in heads.query.steps):
        terms += Norm.of(next(step for step in heads.query.steps if is_norm(step))).terms
    clamp = next((step for step in heads.query.steps if step.operation == "clamp"), None)
    if clamp is not None:
        limits = " to ".join(o.plain.replace("-", "−") for o in clamp.operands if o.plain)
        terms.append(Term('op("clip")', f"limits each number to the range {limits}"))
    if heads.rotation is not None:
        terms.append(rotation_term())
    if any(step.operation == "add" for step in heads.query.steps):
        terms.append(
            Term("u_h", "learnt vector of head h, added to all queries", f"[{heads.size}]")
        )
    if attention.distances is not None:
        terms += attention.distances.terms
    if heads.scores.of("bias") and not (
        attention.distances or attention.product or attention.slopes
    ):
        what = "bias of head h for the two positions, which does not depend on the text"
        terms.append(Term("B_h", what))
    if attention.product is not None:
        terms += _product_terms(attention.product, heads)
    if attention.slopes:
        terms += [
            Term("B_h", "bias of head h for the position j of the key (ALiBi)"),
            Term("m_h", "slope of head h: a fixed number, smaller from head to head"),
        ]
    if heads.kernel:
        what = "kernel of head h of a convolution over positions (ast is the convolution)"
        terms.append(Term("w_h", what, f"[{max(heads.kernel)}]"))
    if heads.scores.of("sinks"):
        terms.append(Term("A_h", "scores of head h"))
        count = f"[{heads.count}]"
        terms.append(Term("z_h", "learnt score of head h that belongs to no position", count))
    return terms


def _product_terms(product: PositionProduct, heads: Heads) -> list[Term]:
    terms = [
        Term("B_h", "bias of head h for the distance from position j to position i"),
        Term("E", "one vector for each distance", f"[{product.rows}, {product.layer.inputs}]"),
        *product.layer.terms("the projection of the distances", "R"),
        Term("R_(h, i - j)", "columns of head h in the row of this distance"),
    ]
    if product.added:
        what = "learnt vector of head h, added to queries that meet distances"
        terms.append(Term("v_h", what, f"[{heads.size}]"))
    return terms


def mask_meaning(heads: Heads, window: int | None) -> str:
    """Return what the mask hides, in words."""
    if heads.projections:
        hidden = "chosen by the caller"
        if not heads.is_cross:
            hidden += "; in a decoder, later positions"
    else:
        hidden = "padding and all later positions" if heads.is_causal else "padding"
        hidden = "those that must not be seen" if not heads.is_text else hidden
        if heads.is_causal is None:
            hidden = "padding and, in a decoder, all later positions"
        if window:
            hidden += f", and positions {window} or more away"
    return (
        "mask: 0 at visible positions, a large negative number (in effect −∞) at masked ones "
        f"({hidden}), so that softmax gives them probability 0"
    )
