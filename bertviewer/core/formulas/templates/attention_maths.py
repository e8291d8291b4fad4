"""The lines of an attention in heads, in its variants."""

from bertviewer.core.formulas.notation import (
    ROTATION,
    SOFTMAX,
    indices,
    listing,
    number_maths,
    sized,
)
from bertviewer.core.formulas.templates.heads import Heads, Part
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.graph.module_graph import Step

ROOT = "sqrt(d_k)"
_NEIGHBOURS = ("1::2]", ", ::2]", "0::2]")


def projection_lines(heads: Heads) -> tuple[str, ...]:
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
        if is_norm(step) and step.node.shape[-1] == outputs:
            text = f"{Norm.of(step).operator}({text})"
        elif step.operation == "clamp":
            text = f'op("clip")({text})'
    return f"{sized(letter, 'S', outputs) if sizes else letter} = {text}"


def head_norm(part: Part) -> Norm | None:
    """Return the norm of each head's queries or keys, ``None`` if they have none."""
    steps = (
        each for each in part.steps if is_norm(each) and each.node.shape[-1] != part.layer.outputs
    )
    return next((Norm.of(each) for each in steps), None)


def _of_head(heads: Heads, letter: str, part: Part) -> str:
    """Return a head's queries, keys or values with what is done to them."""
    symbol = f"{letter}_h"
    if letter != "Q" and heads.shared > 1:
        symbol = letter if heads.key_heads == 1 else f"{letter}_(g(h))"
    for step in part.steps:
        if step.operation == "rotary":
            symbol = f"{ROTATION}({symbol})"
        elif is_norm(step) and step.node.shape[-1] != part.layer.outputs:
            symbol = f"{Norm.of(step).operator}({symbol})"
        elif step.operation == "add":
            symbol = f"({symbol} + u_h)"
    return symbol


def score_lines(heads: Heads, added: str = "", *, is_long: bool = False) -> tuple[str, ...]:
    """Return the probabilities, what they weight, and the range of h.

    Something may be added to the scores. One line is too narrow for long scores.
    """
    source = "S'" if heads.is_cross else "S"
    text = f"{_scores(heads)}{added}{' + M' if heads.is_masked else ''}"
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
    elif not (is_long or heads.scores.of("cap") or head_norm(heads.query)):
        lines = (", quad ".join(lines),)
    definitions = {
        f"h = {indices(heads.count)}": True,
        f"g(h) = floor(h \\/ {heads.shared})": "g(h)" in text,
        f"d_k = {heads.size}": ROOT in text,
        f"c = {number_maths(heads.first_scale or 1)}": "c thin" in text,
    }
    return (*lines, ", quad ".join(line for line, is_used in definitions.items() if is_used))


def _scores(heads: Heads) -> str:
    """Return what goes into the softmax, but for the mask."""
    text = f"{_of_head(heads, 'Q', heads.query)} {_of_head(heads, 'K', heads.key)}^top"
    if heads.first_scale is None:
        text = f"({text}) / {ROOT}"
    elif heads.first_scale != 1:
        text = f"c thin {text}"
    for change in heads.scores.changes:
        number = number_maths(change.number or 1)
        if change.kind == "bias":
            text += f" + {'' if number == '1' else f'{number} thin '}B_h"
        elif change.kind == "scale":
            is_root = heads.unless_usual(change.number or 1) is None
            text = f"({text}) / {ROOT}" if is_root else f"{number} thin ({text})"
        elif change.kind == "cap":
            text = f"{number} tanh (({text}) / {number})"
    return text


def output_lines(heads: Heads) -> tuple[str, ...]:
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


def rotated_size(step: Step, head: int) -> int:
    """Return how many of a head's features a rotation rotates; the others are put next to them."""
    inner = {each.node.id: each for each in step.inner}
    last = step.inner[-1] if step.inner else step
    if len(inner) == 1:  # complex numbers are pairs of features
        return min(2 * step.node.shape[-1], head)
    own = [inner[o.node] for o in last.tensors if o.node in inner]
    is_partial = last.operation == "cat" and 0 < len(own) < len(last.tensors)
    return min((own[0] if is_partial else step).node.shape[-1], head)


def pair_lines(step: Step | None, head: int, base: float | None = None) -> tuple[str, ...]:
    """Return how neighbouring features are rotated, and their angles if their base is known.

    Nothing of other rotations: the module of the angles explains those of a head's halves.
    """
    if step is None:
        return ()
    parts = [part for each in step.inner for o in each.operands for part in o.parts]
    # Without parts it is one product of complex numbers, whose parts are neighbours.
    if not any(part.endswith(_NEIGHBOURS) for part in parts) and (parts or len(step.inner) != 1):
        return ()
    size = rotated_size(step, head)
    angle = "" if base is None else f"theta_i = {base:g}^(-2i \\/ {size}), quad "
    return (
        f"{ROTATION}(x)_(2i) = x_(2i) cos(s theta_i) - x_(2i+1) sin(s theta_i)",
        f"{ROTATION}(x)_(2i+1) = x_(2i+1) cos(s theta_i) + x_(2i) sin(s theta_i)",
        f"{angle}i = {indices(size // 2)}",
    )
