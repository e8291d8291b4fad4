"""The maths of an attention in heads."""

from bertviewer.core.formulas.notation import (
    ROTATION,
    SOFTMAX,
    indices,
    listing,
    number_maths,
    sized,
)
from bertviewer.core.formulas.templates.heads import Heads, reads_encoder
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.position_scores import (
    Distances,
    PositionProduct,
)
from bertviewer.core.formulas.templates.projections import Part
from bertviewer.core.formulas.templates.rotation import pair_maths
from bertviewer.core.frozen import frozen

ROOT = "sqrt(d_k)"


@frozen
class Attention:
    """An attention in heads, with what is added to its scores.

    Attributes:
        heads: its parts.
        window: how many positions back can be seen, ``None`` for all.
        distances: the table that a bias on the scores is looked up in.
        product: the product of queries and vectors of distances that is such a bias.
        slopes: whether the bias falls linearly with the distance (ALiBi).
        added: what else is added to the scores.
    """

    heads: Heads
    window: int | None = None
    distances: Distances | None = None
    product: PositionProduct | None = None
    slopes: bool = False
    added: str = ""


def pair_lines(heads: Heads) -> tuple[str, ...]:
    """Return how pairs are rotated; 10000 is the base of all code that has no key for it."""
    assert heads.rotation is not None
    keys = ("rope_parameters", "rope_theta", "rope_scaling", "rotary_emb_base")
    has_base = any(key in heads.view.config for key in keys)
    return pair_maths(heads.rotation.size, None if has_base else 10000)


def attention_maths(attention: Attention) -> tuple[str, ...]:
    """Return the lines of an attention."""
    heads = attention.heads
    lines = [*_projection_lines(heads), *_weighted(attention), _index_line(attention)]
    if attention.distances is not None:
        lines.append(attention.distances.maths)
    if attention.product is not None:
        lines.append(_product_line(attention))
    if attention.slopes:
        lines.append("B_(h, i j) = m_h j")
    return (*lines, *_output_lines(heads))


def _projection_lines(heads: Heads) -> list[str]:
    if heads.reads_given:
        return []
    other = other_input(heads) if heads.is_cross else "X"
    query = heads.query.layer
    assert query is not None
    target = sized("Q", "S", query.outputs)
    line = f"{target} = {_made(heads.query, sized('X', 'S', query.inputs), 'Q')}"
    values = other if heads.value.source == heads.key.source else "X_V"
    pair = (_projected(heads, "K", heads.key, other), _projected(heads, "V", heads.value, values))
    return [line, ", quad ".join(pair)]


def other_input(heads: Heads) -> str:
    """Return the symbol of the input of keys and values in cross-attention."""
    return 'X_"enc"' if reads_encoder(heads) else "X'"


def _projected(heads: Heads, letter: str, part: Part, other: str) -> str:
    """Return keys or values, with sizes where they differ from the queries'."""
    assert part.layer is not None
    assert heads.query.layer is not None
    sizes = part.layer.outputs != heads.query.layer.outputs
    result = sized(letter, "S", part.layer.outputs) if sizes else letter
    return f"{result} = {_made(part, other, letter, sizes=sizes)}"


def _made(part: Part, states: str, index: str, *, sizes: bool = True) -> str:
    """Return a projection, with what is done to all of its features before they are split."""
    assert part.layer is not None
    text = part.layer.maths(states, index, sizes=sizes)
    for step in part.steps:
        if is_norm(step) and step.node.shape[-1] == part.layer.outputs:
            text = f"{Norm.of(step).operator}({text})"
        elif step.operation == "clamp":
            text = f'op("clip")({text})'
    return text


def head_norm(part: Part) -> Norm | None:
    """Return the norm of each head's queries or keys, ``None`` if they have none."""
    outputs = 0 if part.layer is None else part.layer.outputs
    steps = (each for each in part.steps if is_norm(each) and each.node.shape[-1] != outputs)
    return next((Norm.of(each) for each in steps), None)


def _wrapped(symbol: str, part: Part, vector: str = "u") -> str:
    """Return a head's queries, keys or values with what is done to them."""
    outputs = 0 if part.layer is None else part.layer.outputs
    for step in part.steps:
        if step.operation == "rotary":
            symbol = f"{ROTATION}({symbol})"
        elif is_norm(step) and step.node.shape[-1] != outputs:
            symbol = f"{Norm.of(step).operator}({symbol})"
        elif step.operation == "add":
            symbol = f"({symbol} + {vector}_h)"
    return symbol


def _weighted(attention: Attention) -> tuple[str, ...]:
    """Return the probabilities and what they weight: one line is too narrow for a long score."""
    heads = attention.heads
    source = "S'" if heads.is_cross else "S"
    text = scores_maths(attention) + (" + M" if heads.is_masked else "")
    value = _wrapped(_of_head(heads, "V"), heads.value)
    output = f"{sized('O_h', 'S', heads.value_size)} = P_h {value}"
    output += f" + w_h ast {value}" if heads.kernel else ""
    if heads.scores.of("sinks"):
        return (
            f"{sized('A_h', 'S', source)} = {text}",
            "P_(h, i j) = e^(A_(h, i j)) / (e^(z_h) + sum_k e^(A_(h, i k)))",
            output,
        )
    probabilities = f"{sized('P_h', 'S', source)} = {SOFTMAX} ({text})"
    is_long = head_norm(heads.query) or heads.scores.of("cap") or attention.product
    return (probabilities, output) if is_long else (f"{probabilities}, quad {output}",)


def _of_head(heads: Heads, letter: str) -> str:
    if heads.shared == 1:
        return f"{letter}_h"
    return letter if heads.key_heads == 1 else f"{letter}_(g(h))"


def scores_maths(attention: Attention) -> str:
    """Return what goes into the softmax, but for the mask."""
    heads = attention.heads
    query = _wrapped("Q_h", heads.query)
    key = _wrapped(_of_head(heads, "K"), heads.key)
    text = f"{query} {key}^top"
    if heads.first_scale is None:
        text = f"({text}) / {ROOT}"
    elif heads.first_scale != 1:
        text = f"c thin {text}"
    for change in heads.scores.changes:
        if change.kind == "bias":
            factor = "" if change.number in (1, None) else f"{number_maths(change.number)} thin "
            text = f"{text} + {factor}B_h"
        elif change.kind == "scale" and change.number is not None:
            is_root = heads.unless_usual(change.number) is None
            factor = number_maths(change.number)
            text = f"({text}) / {ROOT}" if is_root else f"{factor} thin ({text})"
        elif change.kind == "cap" and change.number is not None:
            bound = number_maths(change.number)
            text = f"{bound} tanh (({text}) / {bound})"
    return f"{text} + {attention.added}" if attention.added else text


def _index_line(attention: Attention) -> str:
    """Return the range of h, and the small definitions that follow it."""
    heads = attention.heads
    line = f"h = {indices(heads.count)}"
    if heads.shared > 1 and heads.key_heads > 1:
        line += f", quad g(h) = floor(h \\/ {heads.shared})"
    if ROOT in scores_maths(attention):
        line += f", quad d_k = {heads.size}"
    elif heads.first_scale not in (1, None):
        line += f", quad c = {number_maths(heads.first_scale)}"
    return line


def _product_line(attention: Attention) -> str:
    product = attention.product
    assert product is not None
    query = "(Q_(h, i) + v_h)" if product.added else "Q_(h, i)"
    made = product.layer.maths("E", "R", sizes=False)
    text = f"{query} dot R_(h, i - j)"
    if attention.heads.unless_usual(product.factor) is None:
        text = f"({text}) / {ROOT}"
    return f"B_(h, i j) = {text}, quad R = {made}"


def _output_lines(heads: Heads) -> tuple[str, ...]:
    joined = f'op("Concat")({listing("O_{}", heads.count)})'
    width = heads.count * heads.value_size
    if heads.output is None:
        return (f"{sized('Y', 'S', width)} = {joined}",)
    line = f"{sized('O', 'S', width)} = {joined}"
    projected = heads.output.maths("O", "O")
    if heads.residual:
        added = "X" if heads.residual == heads.query.source else "R"
        projected = f"{added} + {projected}"
        projected = f"{heads.norm.operator}({projected})" if heads.norm else projected
    return line, f"{sized('Y', 'S', heads.output.outputs)} = {projected}"
