"""The lines of an attention in heads, in its variants."""

from bertviewer.core.formulas.notation import (
    ROTATION,
    SOFTMAX,
    indices,
    listing,
    number_maths,
    sized,
)
from bertviewer.core.formulas.steps.attention import ROOT, Change, score_maths
from bertviewer.core.formulas.steps.expression import PRODUCT, Expression
from bertviewer.core.formulas.templates.heads import Heads, Part, Variant
from bertviewer.core.formulas.templates.norm import Norm
from bertviewer.core.formulas.templates.rotary import pair_lines

_BASES = ("rope_parameters", "rope_theta", "rope_scaling", "rotary_emb_base")
"""Keys for the base of the angles; it is 10000 in all code that has none of them."""
_MOST = 60
"""Longer scores need a line for themselves."""


def attention_lines(heads: Heads, variant: Variant) -> tuple[str, ...]:
    """Return all lines of an attention."""
    rotation = heads.query.step("rotary")
    base = None if any(key in heads.view.config for key in _BASES) else 10000
    # What the scores are instead of the usual ones comes before them, what is added after them.
    lines, is_instead = _score_lines(heads, variant), "{}" not in variant.scores
    return (
        *(variant.projections or _projection_lines(heads)),
        *((*variant.lines, *lines) if is_instead else (*lines, *variant.lines)),
        *_output_lines(heads),
        *(variant.last or pair_lines(rotation, heads.size, base)),
    )


def _projection_lines(heads: Heads) -> tuple[str, ...]:
    """Return how queries, keys and values are made of the inputs."""
    other = "X" if not heads.is_cross else 'X_"enc"' if heads.reads_encoder else "X'"
    values = other if heads.value.source == heads.key.source else "X_V"
    query = _projected(heads, heads.query, sized("X", "S", heads.query.layer.inputs), "Q")
    key, value = (
        _projected(heads, heads.key, other, "K"),
        _projected(heads, heads.value, values, "V"),
    )
    return query, f"{key}, quad {value}"


def _projected(heads: Heads, part: Part, states: str, letter: str) -> str:
    """Return queries, keys or values, with sizes for queries and where they differ from those."""
    outputs = part.layer.outputs
    sizes = letter == "Q" or outputs != heads.query.layer.outputs
    text = part.layer.maths(states, letter, sizes=sizes)
    for step in part.steps:
        if step in part.norms(of_heads=False):
            text = f"{Norm.of(step).operator}({text})"
        elif step.operation == "clamp":
            text = f'op("clip")({text})'
    return f"{sized(letter, 'S', outputs) if sizes else letter} = {text}"


def _of_head(heads: Heads, letter: str, part: Part) -> str:
    """Return a head's queries, keys or values with what is done to them."""
    symbol = f"{letter}_h"
    if letter != "Q" and heads.shared > 1:
        symbol = letter if heads.key_heads == 1 else f"{letter}_(g(h))"
    for step in part.steps:
        if step.operation == "rotary":
            symbol = f"{ROTATION}({symbol})"
        elif step in part.norms(of_heads=True):
            symbol = f"{Norm.of(step).operator}({symbol})"
        elif step.operation == "add":
            symbol = f"({symbol} + u_h)"
    return symbol


def _score_lines(heads: Heads, variant: Variant) -> tuple[str, ...]:
    """Return the probabilities, what they weight, and the range of h."""

    def added(change: Change) -> Expression | None:
        return Expression("B_h") if change.kind == "bias" else None

    query, key = _of_head(heads, "Q", heads.query), _of_head(heads, "K", heads.key)
    product = Expression(f"{query} {key}^top", PRODUCT)
    text = score_maths(heads.scores, product, heads.size, added, "c").text
    text = variant.scores.format(text) + (" + M" if heads.is_masked else "")
    source = "S'" if heads.is_cross else "S"
    value = _of_head(heads, "V", heads.value)
    output = f"{sized('O_h', 'S', heads.value_size)} = P_h {value}"
    output += f" + w_h ast {value}" if heads.kernel else ""
    lines: tuple[str, ...] = (f"{sized('P_h', 'S', source)} = {SOFTMAX} ({text})", output)
    if heads.scores.of("sinks"):
        lines = (
            f"{sized('A_h', 'S', source)} = {text}",
            "P_(h, i j) = e^(A_(h, i j)) / (e^(z_h) + sum_k e^(A_(h, i k)))",
            output,
        )
    elif len(text) < _MOST:
        lines = (", quad ".join(lines),)
    definitions = {
        f"h = {indices(heads.count)}": True,
        f"g(h) = floor(h \\/ {heads.shared})": "g(h)" in text,
        f"d_k = {heads.size}": ROOT in text,
        f"c = {number_maths(heads.scores.factor or 1)}": "c thin" in text,
    }
    return (*lines, ", quad ".join(line for line, is_used in definitions.items() if is_used))


def _output_lines(heads: Heads) -> tuple[str, ...]:
    """Return how the heads are put together, projected and added."""
    joined = f'op("Concat")({listing("O_{}", heads.count)})'
    width = heads.count * heads.value_size
    if heads.output is None:
        return (f"{sized('Y', 'S', width)} = {joined}",)
    projected = heads.output.maths("O", "O")
    if heads.residual:
        projected = f"{'X' if heads.residual == heads.query.source else 'R'} + {projected}"
        projected = f"{heads.norm.operator}({projected})" if heads.norm else projected
    made = f"{sized('Y', 'S', heads.output.outputs)} = {projected}"
    return f"{sized('O', 'S', width)} = {joined}", made
