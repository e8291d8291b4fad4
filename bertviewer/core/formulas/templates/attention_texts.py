"""The symbols of an attention, and what a learner asks about it, as texts with placeholders."""

import re
from collections.abc import Iterable, Iterator

from bertviewer.core.formulas.facts import drops_probabilities, has_positions
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.notation import ROTATION, TOKENS
from bertviewer.core.formulas.notes import Note, no
from bertviewer.core.formulas.steps.origins import ROLES
from bertviewer.core.formulas.templates.attention_maths import head_norm
from bertviewer.core.formulas.templates.heads import Heads
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.template import Match, Values, filled

WHY = Note(
    "Why divide by √d_k? If the entries of a query and a key are independent with mean 0 and "
    "variance 1, their dot product has variance d_k = {size}. Scores that large would push the "
    "softmax towards 0 and 1, where its gradient vanishes; the division restores a variance of 1.",
    "is_usual",
)
KEYS = (
    *("width", "heads", "key/value heads", "head size"),
    *("attention dropout", "decoder", "scale"),
)
WHERE = "{where}"
MIXING = "Concat places the heads side by side{mixing}."
CAUSAL = Note(
    "Attention is causal: position s attends only to positions 0 to s, so that the model can be "
    "trained to predict the next token.",
    "is_causal",
)
DROPOUT = Note(
    "During training, dropout zeroes some entries of P; in evaluation mode it has no effect.",
    drops_probabilities,
)
LANDMARKS = (
    Note(
        "This configuration has as many landmarks as positions in a sequence ({landmarks}), so the "
        "attention is computed in full, without the Nyström approximation.",
        "is_full",
    ),
    Note(
        "Nyström approximation: queries and keys are averaged over segments to {landmarks} "
        "landmarks each. The three softmax products with them replace the one of all pairs, so "
        "the cost grows linearly with the number of tokens. The matrix between landmarks is "
        "inverted approximately, in a few iterations (Xiong et al. 2021, section 3).",
        "not is_full",
    ),
)
NOTES: tuple[str, ...] = (
    WHY,
    "The scores are not divided by the square root of d_k = {t5_size}: T5 initialises W_Q with a "
    "standard deviation smaller by this factor, which has the same effect at the start of "
    "training.",
    "This configuration {scaling}.",
    WHERE,
    MIXING,
    "{sharing}, so W_K and W_V have {key.layer.outputs} {unit} instead of {query.layer.outputs}, "
    "and a key/value cache is {shared} times smaller.",
    "{norms}), which keeps the scores bounded.",
    "The rotation encodes the order of the tokens: after it, the product of a query and a key "
    "depends on the distance between them, not on their absolute positions. Values are "
    "{rotated_values}",
    "Only {rotated} of the {size} features of a head are rotated (partial rotary embedding); the "
    "others carry no position.",
    Note("There are no position vectors: token order enters as {bias}", no(has_positions)),
    Note("Token order enters as position vectors, in the embeddings, and as {bias}", has_positions),
    "{table}.",
    "Soft-capping keeps all scores between −{cap} and {cap}: small scores pass almost unchanged, "
    "large ones approach the bound.",
    "Attention sinks: the softmax also includes one learnt score per head (“{sinks}”) that "
    "belongs to no position. Its probability is left out afterwards, so the remaining ones sum to "
    "less than 1: a head can attend to nothing.",
    CAUSAL,
    "Sliding window: only positions less than {window} away are visible. Information from farther "
    "away arrives over several layers, if at all.",
    "Queries come from {crossing}.",
    "This module contains the whole sub-layer: attention, output projection, residual connection "
    "and {norm.name}.",
    Note("This module also adds its residual connection.", "adds_residual"),
    "{explained}",
    "The input is split into {windows} windows; a position attends only to positions of its own "
    "window. Information crosses windows only in other layers.",
    Note(
        "The convolutions look at one position, like linear layers. The module’s tensors have one "
        "column per position; the formula has one row per position.",
        "is_convolution",
    ),
    Note("Queries, keys and values are clipped, which bounds the scores.", "limits"),
    "The convolution adds to each head’s output a weighted sum of the values at the {kernel} "
    "nearest positions, the same for all features of the head.",
    *LANDMARKS,
    DROPOUT,
)
"""What a learner asks about attention, the most asked first."""

_INPUTS = (
    TOKENS,
    Term("X", "input, one row per position", "[S, {query.layer.inputs}]"),
    Term('X_"enc"', "the encoder’s output", "[S', {key.layer.inputs}]"),
    Term("X'", "the input of keys and values", "[S', {key.layer.inputs}]"),
    Term("S'", "{what_it_counts}"),
    Term("X_V", "input of the values", "[S, {value.layer.inputs}]"),
)
_HEADS = (
    Term("h", "index of the head, counted from 0", "{heads}"),
    Term("Q_h, K_h, V_h", "the {size} columns of head h in {same_columns}", "[S, {size}]"),
    Term("Q_h", "the {size} columns of head h in {query_columns}", "[S, {size}]"),
    Term("g(h)", "key/value head that query head h uses", "{groups}"),
    Term("K_(g(h)), V_(g(h))", "the {size} columns of this head in K and V", "[S, {size}]"),
)
_TURNS = "rotates pairs of features by an angle that grows with the position; no parameters"
_CHANGES = (
    Term('op("clip")', "limits each number to the range {limits}"),
    Term(ROTATION, _TURNS),
    Term("u_h", "learnt vector of head h, added to all queries", "[{size}]"),
)
_CONVOLUTION = "kernel of head h of a convolution over positions (ast is the convolution)"
_MASK = (
    "mask: 0 at visible positions, a large negative number (in effect −∞) at masked ones "
    "({hidden}), so that softmax gives them probability 0"
)
_PROBABILITIES = (
    Term("w_h", _CONVOLUTION, "[{kernel}]"),
    Term("A_h", "scores of head h"),
    Term("z_h", "learnt score of head h that belongs to no position", "[{count}]"),
    Term("M", _MASK),
    Term("P_h", "attention probabilities of head h; {rows_sum} 1"),
    Term("O_h", "output of head h", "[S, {value_size}]"),
    Term("d_k", "{size_name}; the scores are divided by its square root", "{size}"),
    Term("c", "factor applied to the scores instead of 1/√d_k", "{factor}"),
)
_RESIDUAL = Term("R", "residual: the input of the sub-layer")
_PAIRS = (
    Term("x", "query or key of one head at position s", "[{rotated_size}]"),
    Term("s", "position, counted from 0"),
    Term("theta_i", "rotation angle of pair i per position"),
)


def layer_terms(heads: Heads) -> Iterator[Term]:
    """Yield the terms of the projections."""
    for role, letter in ROLES.items():
        yield from heads.parts[role].layer.terms(f"the {role} projection", letter)


def attention_match(
    heads: Heads,
    lines: tuple[str, ...],
    values: Values,
    *,
    entries: Iterable[Term] = (),
    layers: Iterable[Term] = (),
    keys: tuple[str, ...] = (),
) -> Match:
    """Return an attention with the terms whose symbols its lines have, in their order.

    ``layers`` are the terms of the projections, if those are not three layers, ``entries`` of what
    is done to the scores. A term whose meaning names a value that is missing is left out.
    """
    norms = [each for step in heads.query.steps if is_norm(step) for each in Norm.of(step).terms]
    if (norm := head_norm(heads.query)) is not None:
        meaning = norm.meaning.replace("each position’s vector", "each head’s vectors")
        norms = [Term(norm.operator, meaning, f"[{heads.size}]")]
    has_residual = heads.residual not in ("", heads.query.source)
    known = (
        *(*_INPUTS, *(layers or layer_terms(heads)), *_HEADS, *norms[:1]),
        *(*_CHANGES, *entries, *_PROBABILITIES),
        *(heads.output.terms("the output projection", "O") if heads.output else ()),
        *((_RESIDUAL,) if has_residual else ()),
        *(heads.norm.terms if heads.norm else ()),
        *_PAIRS,
    )
    whole, terms = " ".join(lines), []
    for each in known:
        symbol = re.escape(each.symbol.split(", ")[0])
        meaning = filled(each.meaning, values)
        if meaning and re.search(rf"(?<![\w\"^]){symbol}(?![\w'])", whole):
            terms.append(Term(each.symbol, meaning, filled(each.value or "", values) or None))
    if not heads.is_text:
        terms[0] = Term("S", "number of positions, without the batch")
    return Match(lines, tuple(terms), values, keys)
