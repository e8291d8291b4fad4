"""The formula of multi-head attention, whatever module it was read from."""

from dataclasses import dataclass

from bertviewer.core.formulas.blocks import norm_terms
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import (
    LAYER_NORM,
    SOFTMAX,
    TOKENS,
    Affine,
    indices,
    listing,
    number_maths,
    shape_text,
    sized,
)
from bertviewer.core.formulas.subject import Subject

_KEYS = ("width", "heads", "attention dropout", "decoder", "scale")


@dataclass(frozen=True, slots=True)
class Heads:
    """What an attention module is made of, however it stores it.

    ``where`` says in plain words where head 0 to the last find their part of the three weights.
    """

    query: Affine
    key: Affine
    value: Affine
    count: int
    size: int
    where: str
    output: Affine | None = None
    normed: bool = False
    causal: bool = False
    cross: bool = False
    scale: float | None = None
    masked_by_caller: bool = False


def attention_formula(subject: Subject, heads: Heads) -> Formula:
    """Scaled dot-product attention in several heads (Vaswani et al. 2017, section 3.2)."""
    kind = "cross-attention" if heads.cross else "self-attention"
    after = ", added to its input and normalised" if heads.normed else ""
    whom = "the encoder's output" if heads.cross else "the sequence itself"
    return Formula(
        role="self-attention",
        title=f"Multi-head {kind}{after}",
        summary=f"Each position looks at {whom} and takes a weighted mean of what it finds, "
        f"{heads.count} times in parallel.",
        maths=_maths(heads),
        terms=_terms(heads, subject),
        notes=_notes(heads),
        config_keys=subject.keys(*_KEYS, *(("epsilon",) if heads.normed else ())),
        source="Vaswani et al. 2017, sections 3.2.1 and 3.2.2"
        + ("; Lan et al. 2020 and their code" if heads.normed else ""),
    )


def _maths(heads: Heads) -> tuple[str, ...]:
    other = 'X_"enc"' if heads.cross else "X"
    source = "S'" if heads.cross else "S"
    score = "Q_h K_h^top"
    scaled = f"({score}) / sqrt(d_k)" if heads.scale is None else f"c thin {score}"
    factor = f"d_k = {heads.size}" if heads.scale is None else f"c = {number_maths(heads.scale)}"
    lines = [
        f"{sized('Q', 'S', heads.query.outputs)} = "
        f"{heads.query.maths(sized('X', 'S', heads.query.inputs), 'Q')}",
        f"K = {heads.key.maths(other, 'K', sizes=False)}, quad "
        f"V = {heads.value.maths(other, 'V', sizes=False)}",
        f"{sized('P_h', 'S', source)} = {SOFTMAX} ({scaled} + M), quad "
        f"{sized('O_h', 'S', heads.size)} = P_h V_h",
        f"h = {indices(heads.count)}, quad {factor}",
    ]
    joined = f'op("Concat")({listing("O_{}", heads.count)})'
    if heads.output is None:
        lines.append(f"{sized('Y', 'S', heads.query.outputs)} = {joined}")
        return tuple(lines)
    lines.append(f"{sized('O', 'S', heads.output.inputs)} = {joined}")
    projected = heads.output.maths("O", "O")
    if heads.normed:
        projected = f"{LAYER_NORM}(X + {projected})"
    lines.append(f"{sized('Y', 'S', heads.output.outputs)} = {projected}")
    return tuple(lines)


def _terms(heads: Heads, subject: Subject) -> tuple[Term, ...]:
    head = f"[S, {heads.size}]"
    terms = [
        TOKENS,
        Term("X", "input, one row for each position", f"[S, {heads.query.inputs}]"),
    ]
    if heads.cross:
        terms.append(Term('X_"enc"', "the encoder's output", f"[S', {heads.key.inputs}]"))
        terms.append(Term("S'", "number of tokens that the encoder read"))
    terms += heads.query.terms("the queries", "Q")
    terms += heads.key.terms("the keys", "K")
    terms += heads.value.terms("the values", "V")
    terms += [
        Term("h", "head, counted from 0", f"{heads.count} heads"),
        Term("Q_h, K_h, V_h", f"head h's {heads.size} columns of Q, K and V", head),
        Term("M", _mask(heads)),
        Term("P_h", "attention probabilities of head h; each row sums to 1"),
        Term("O_h", "output of head h", head),
    ]
    if heads.scale is None:
        text = "features of one head; its root divides the scores"
        terms.append(Term("d_k", text, str(heads.size)))
    else:
        terms.append(
            Term("c", "factor on the scores, in place of 1 / sqrt(d_k)", f"{heads.scale:g}")
        )
    if heads.output is not None:
        terms += heads.output.terms("the output projection", "O")
    if heads.normed:
        terms += norm_terms(subject, "LayerNorm")
    return tuple(terms)


def _mask(heads: Heads) -> str:
    if heads.masked_by_caller:
        hidden = "as the caller asks; a decoder's hides later positions"
    else:
        hidden = "padding and all later positions" if heads.causal else "padding"
    return (
        f"mask: 0 where a position may be looked at, hugely negative where not ({hidden}), so that "
        "the softmax gives it probability 0"
    )


def _notes(heads: Heads) -> tuple[str, ...]:
    notes = [
        "Why divide by the root of d_k: if the entries of a query and a key are independent with "
        f"mean 0 and variance 1, their dot product has variance d_k = {heads.size}. Scores that "
        "large would push the softmax to 0 and 1, where its gradient vanishes; the division brings "
        "their variance back to 1.",
        f"{heads.where} {shape_text((heads.count, heads.size))} is how the {heads.query.outputs} "
        "features are split: the number of heads changes no parameter count.",
    ]
    if heads.scale is not None:
        notes[0] = "This configuration scales the scores by a factor other than 1 / sqrt(d_k)."
    if heads.output is None:
        notes.append(
            "Concat sets the heads side by side. The linear layer that mixes them is the dense "
            "layer of the sibling module 'output'."
        )
    if heads.causal:
        notes.append(
            "Attention is causal: position s sees positions 0 to s only, so that the model can be "
            "trained to predict the next token."
        )
    if heads.normed:
        notes.append(
            "This module holds the whole sub-layer: attention, projection, residual and layer norm."
        )
    notes.append(
        "While training, dropout sets some probabilities in P to 0; in evaluation it does nothing."
    )
    return tuple(notes)
