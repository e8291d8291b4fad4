"""Multi-head latent attention: keys and values from one small vector (DeepSeek-AI 2024)."""

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import (
    ROTATION,
    SOFTMAX,
    TOKENS,
    Affine,
    indices,
    listing,
    number_maths,
    sized,
)
from bertviewer.core.formulas.steps.origins import chain_of, projections
from bertviewer.core.formulas.templates.attention_notes import CAUSAL, DROPOUT_OF_PROBABILITIES
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.projections import layer_of
from bertviewer.core.formulas.templates.rotation import (
    are_neighbours,
    pair_maths,
    pair_terms,
    rotation_term,
)
from bertviewer.core.formulas.templates.scores import scores_of
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text

_CLOSE = 1e-4
_Q_A, _Q_B, _KV_A, _KV_B = '"Q,a"', '"Q,b"', '"KV,a"', '"KV,b"'
"""Indices of the two layers of queries, and of keys and values."""
_KEYS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


@frozen
class Latent:
    """The layers of a latent attention.

    Attributes:
        down: what makes the latent vector of keys and values, and the rotated key.
        up: what makes keys and values of it.
        query_down: what makes the queries' own latent vector, ``None`` without one.
        query: what makes the queries.
        norm: the norm of the latent vectors.
        rotated: how many features of a query and a key are rotated.
        names: of the layers of queries, and of keys and values.
    """

    down: Affine
    up: Affine
    query_down: Affine | None
    query: Affine
    output: Affine
    norm: Norm
    rotated: int
    count: int
    size: int
    value_size: int
    rotation: Step
    names: tuple[str, str]


def latent_formula(view: ModuleView, step: Step) -> Formula | None:
    """Attention whose keys and values come from a latent vector, and one rotated key for all."""
    graph = view.graph
    latent = None if graph is None else _read(view, graph, step)
    if latent is None:
        return None
    factor = scores_of(step).factor or 0.0
    scale = None if abs(factor * latent.size**0.5 - 1) < _CLOSE else factor
    causal = is_causal(view.architecture, view.node.path)
    pairs = are_neighbours(latent.rotation)
    hidden = "padding and all later positions" if causal else "padding"
    reach = "itself and all earlier positions" if causal else "all positions of the same sequence"
    count = count_text(latent.count, "in one head", "in {0} heads in parallel")
    return Formula(
        title="Multi-head latent attention",
        summary=f"Every position attends to {reach} and forms a weighted mean of their values, "
        f"{count}; keys and values come from one small vector per position.",
        maths=(
            *_maths(latent, scale),
            *(pair_maths(latent.rotated, None) if pairs else ()),
        ),
        terms=(*_terms(latent, scale, hidden), *(pair_terms(latent.rotated) if pairs else ())),
        notes=(*_notes(latent, scale), *((CAUSAL,) if causal else ()), DROPOUT_OF_PROBABILITIES),
        config_keys=(
            *view.keys("width", "heads"),
            *(key for key in _KEYS if key in view.config),
            *view.keys("rotation"),
        ),
        source="DeepSeek-AI 2024 (DeepSeek-V2), section 2.1; rotation: Su et al. 2021, section 3.2",
    )


def _read(view: ModuleView, graph: ModuleGraph, step: Step) -> Latent | None:
    up = _maker(graph, chain_of(graph, step.roles["value"]).origin if step.roles else None)
    norm = None if up is None else graph.maker(next(iter(up.tensors), None))
    if up is None or norm is None or not is_norm(norm):
        return None
    down = graph.maker(next(iter(norm.tensors), None))
    letters = projections(graph)
    queries = [graph.by_id[node] for node, found in letters.items() if found == {"Q"}]
    turned = graph.of("rotary")
    users = graph.users(step)
    if down is None or len(queries) != 1 or not turned or len(users) != 1:
        return None
    if "K" not in letters.get(up.node.id, ()) or "K" not in letters.get(down.node.id, ()):
        return None
    before = graph.maker(next(iter(queries[0].tensors), None))
    query_down = None
    if is_norm(before) and before is not None:
        query_down = graph.maker(next(iter(before.tensors), None))
    layers = [layer_of(view, each) for each in (down, up, queries[0], users[0])]
    first = None if query_down is None else layer_of(view, query_down)
    count, size = (step.node.details.get(name) for name in ("heads", "head_size"))
    found = [each for each in layers if each is not None]
    if len(found) != 4 or not isinstance(count, int) or not isinstance(size, int):
        return None
    return Latent(
        found[0],
        found[1],
        first,
        *(found[2], found[3], Norm.of(norm)),
        found[0].outputs - found[1].inputs,
        count,
        size,
        step.node.shape[-1],
        turned[-1],
        (_name(queries[0]), _name(up)),
    )


def _name(step: Step) -> str:
    return (step.node.path or "").rpartition(".")[2]


def _maker(graph: ModuleGraph, operand: Operand | None) -> Step | None:
    step = graph.maker(operand)
    return step if step is not None and step.operation == "linear" else None


def _maths(latent: Latent, scale: float | None) -> tuple[str, ...]:
    states = sized("X", "S", latent.down.inputs)
    norm = latent.norm.operator
    plain, rotated = latent.size - latent.rotated, latent.rotated
    score = "(Q_h K_h^top) / sqrt(d_k)" if scale is None else "c thin Q_h K_h^top"
    last = f"d_k = {latent.size}" if scale is None else f"c = {number_maths(scale)}"
    if latent.query_down is None:
        queries = f"Q = {latent.query.maths(states, 'Q')}"
    else:
        inner = latent.query_down.maths(states, _Q_A)
        queries = f"Q = {latent.query.maths(f'{norm}({inner})', _Q_B)}"
    down = latent.down.maths(states, _KV_A)
    return (
        queries,
        f"[{sized('C', 'S', latent.up.inputs)}, {sized('K^r', 'S', rotated)}] = {down}",
        f"[{sized('K^c', 'S', latent.count * plain)}, "
        f"{sized('V', 'S', latent.count * latent.value_size)}] = "
        f"{latent.up.maths(f'{norm}(C)', _KV_B)}",
        f"{sized('Q_h', 'S', latent.size)} = [Q_h^c, {ROTATION}(Q_h^r)], quad "
        f"{sized('K_h', 'S', latent.size)} = [K_h^c, {ROTATION}(K^r)]",
        f"{sized('P_h', 'S', 'S')} = {SOFTMAX} ({score} + M), quad "
        f"{sized('O_h', 'S', latent.value_size)} = P_h V_h",
        f"h = {indices(latent.count)}, quad {last}",
        f'{sized("O", "S", latent.output.inputs)} = op("Concat")({listing("O_{}", latent.count)})',
        f"{sized('Y', 'S', latent.output.outputs)} = {latent.output.maths('O', 'O')}",
    )


def _terms(latent: Latent, scale: float | None, hidden: str) -> tuple[Term, ...]:
    plain, rotated = latent.size - latent.rotated, latent.rotated
    terms = [TOKENS, Term("X", "input, one row per position", f"[S, {latent.down.inputs}]")]
    if latent.query_down is not None:
        terms += latent.query_down.terms("the layer that compresses for the queries", _Q_A)
        terms += latent.query.terms("the query projection", _Q_B)
    else:
        terms += latent.query.terms("the query projection", "Q")
    terms += latent.down.terms("the layer that compresses for keys and values", _KV_A)
    terms += latent.up.terms("the projection to keys and values", _KV_B)
    terms += [
        Term("C", "latent vectors of keys and values", f"[S, {latent.up.inputs}]"),
        Term("K^r", "the part of all heads’ keys that is rotated", f"[S, {rotated}]"),
        Term("Q_h^c, K_h^c", "the parts of head h that are not rotated", f"[S, {plain}]"),
        Term("Q_h^r", "the part of head h’s queries that is rotated", f"[S, {rotated}]"),
        Term(
            "h",
            "index of the head, counted from 0",
            count_text(latent.count, "1 head", "{0} heads"),
        ),
        *latent.norm.terms,
        rotation_term(),
        Term(
            "M",
            "mask: 0 at visible positions, a large negative number (in effect −∞) at masked ones "
            f"({hidden}), so that softmax gives them probability 0",
        ),
        Term("P_h", "attention probabilities of head h; each row sums to 1"),
        Term("O_h", "output of head h", f"[S, {latent.value_size}]"),
    ]
    if scale is None:
        text = "size of a query and a key; the scores are divided by its square root"
        terms.append(Term("d_k", text, str(latent.size)))
    else:
        terms.append(Term("c", "factor applied to the scores instead of 1/√d_k", f"{scale:g}"))
    return (*terms, *latent.output.terms("the output projection", "O"))


def _notes(latent: Latent, scale: float | None) -> tuple[str, ...]:
    cached = latent.up.inputs + latent.rotated
    whole = latent.count * (latent.size + latent.value_size)
    notes = [
        f"Latent attention: only C and the rotated part of the key need to be cached, {cached} "
        f"numbers per position; the keys and values of all heads would be {whole}.",
        f"A query and a key have two parts: {latent.size - latent.rotated} features that compare "
        f"content, and {latent.rotated} features that are rotated by the position. All heads "
        "share the rotated part of the key, as a rotation cannot be applied to C.",
    ]
    plain, width = latent.size - latent.rotated, latent.size - latent.rotated + latent.value_size
    notes.append(
        f"{latent.names[1]}.weight stacks the heads, {width} rows each: the first {plain} make the "
        f"head’s keys, the others its values. {latent.names[0]}.weight has {latent.size} rows for "
        f"each head, of which the last {latent.rotated} make the part that is rotated."
    )
    if scale is None:
        notes.insert(
            0,
            "Why divide by √d_k? If the entries of a query and a key are independent with mean 0 "
            f"and variance 1, their dot product has variance d_k = {latent.size}; the division "
            "restores a variance of 1.",
        )
    return tuple(notes)
