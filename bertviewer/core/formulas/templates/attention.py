"""Self-attention and cross-attention in heads, as one module computes it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import Step
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
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.attention_notes import (
    CAUSAL,
    DROPOUT_OF_PROBABILITIES,
    attention_notes,
    reads_encoder,
)
from bertviewer.core.formulas.templates.disentangled import disentangled_formula
from bertviewer.core.formulas.templates.heads import (
    Heads,
    Part,
    heads_of,
    own_attentions,
    reads_text,
    torch_heads,
)
from bertviewer.core.formulas.templates.latent_attention import latent_formula
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.position_scores import (
    Distances,
    PositionProduct,
    distances_of,
    products_of,
)
from bertviewer.core.formulas.templates.rotation import pair_maths, pair_terms, rotation_term
from bertviewer.core.formulas.templates.scores import UnknownScoresError
from bertviewer.core.formulas.templates.sparse_attention import sparse_formula, sparse_heads
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text

PAPER = "Vaswani et al. 2017, sections 3.2.1 and 3.2.2"
_ROOT = "sqrt(d_k)"


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


def _attention(view: ModuleView) -> Formula | None:
    """An attention module: its own code computes an attention (Vaswani et al. 2017, 3.2)."""
    own = own_attentions(view)
    if (heads := sparse_heads(view)) is not None:
        return sparse_formula(heads, _formula(Attention(heads, added="log N")))
    if not own or view.graph is None:
        return None
    if len(own) > 1 or len(view.graph.of("attention")) > 1:
        return _by_steps(view, own[0])
    try:
        return _of_heads(view, own[0]) or latent_formula(view, own[0]) or _by_steps(view, own[0])
    except UnknownScoresError:
        return _by_steps(view, own[0])


def _of_heads(view: ModuleView, step: Step) -> Formula | None:
    if step.node.details.get("projections"):
        heads = torch_heads(view, step)
    else:
        heads = heads_of(view, step)
    if heads is None:
        return None
    products = products_of(heads)
    is_split = heads.scores.factor is None and "relative_attention" in view.config
    if any(each.is_gathered for each in products) or is_split:
        return disentangled_formula(heads, products)
    if heads.scores.factor is None:
        return None
    biases = heads.scores.of("bias")
    distances = distances_of(heads)
    product = products[0] if len(products) == 1 else None
    graph = view.graph
    given = graph.given.get(biases[0].operand.node) if graph and len(biases) == 1 else None
    slopes = given is not None and ("alibi" in given.name or _has_alibi(view.config))
    is_constant = given is not None and given.kind == "constant"
    if len(biases) > 1 or (biases and not (distances or product or slopes or is_constant)):
        return None
    if distances is not None and given is not None and graph and graph.of("look-up"):
        heads = replace(heads, is_masked=True)  # a mask was added to the table's rows
    attention = Attention(heads, window_of(view), distances, product, slopes)
    return _formula(attention)


def _has_alibi(config: Mapping[str, Any]) -> bool:
    """Return whether a configuration, or a part of it, asks for ALiBi."""
    parts = [config, *(value for value in config.values() if isinstance(value, Mapping))]
    return any(part.get("alibi") is True for part in parts)


def window_of(view: ModuleView) -> int | None:
    """Return how many positions back a module's sliding window reaches, ``None`` without one."""
    names = ("sliding_window", "attention_window_size")
    for name in names:
        if name in view.node.attributes:
            return view.integer(name)
    if view.attribute("attention_type") == "local":  # of a model with global layers as well
        names = ("window_size",)
    kinds = view.config.get("layer_types")
    if isinstance(kinds, list | tuple) and "sliding_attention" not in kinds:
        return None
    if isinstance(kinds, list | tuple) and len(set(kinds)) > 1:
        return None
    if view.config.get("use_sliding_window") is False:
        return None
    found = [view.config.get(name) for name in names]
    return next((each for each in found if isinstance(each, int)), None)


def _by_steps(view: ModuleView, step: Step) -> Formula | None:
    """Return an attention with unusual steps: as the code executes them, with what is certain."""
    steps = formula_of_steps(view)
    if steps is None or view.graph is None:
        return None
    count = step.node.details.get("heads")
    query, key = (_source(view, step, role) for role in ("query", "key"))
    is_cross = len(view.graph.inputs) > 1 and query != key and "" not in (query, key)
    kind = "cross-attention" if is_cross else "self-attention"
    convolved = " with convolution" if view.graph.of("convolution") else ""
    heads = count_text(count, "in one head", "in {0} heads") if isinstance(count, int) else ""
    notes = [CAUSAL] if step.node.details.get("causal") and not is_cross else []
    notes += _landmark_notes(view)
    return replace(
        steps,
        title=f"Multi-head {kind}{convolved}",
        summary="Positions attend to each other and form weighted means of their values"
        f"{f', {heads}' if heads else ''}; the formula lists the steps of this variant as the code "
        "executes them.",
        notes=(*notes, DROPOUT_OF_PROBABILITIES, *steps.notes),
        config_keys=view.keys("width", "heads", "key/value heads", "head size", "distances"),
    )


def _source(view: ModuleView, step: Step, role: str) -> str:
    """Return the input that a query or key is computed from, "" if that is not one."""
    graph, operand = view.graph, step.roles.get(role)
    while graph is not None and operand is not None:
        maker = graph.maker(operand)
        if maker is None:
            given = graph.given.get(operand.node)
            return operand.node if given is not None and given.kind == "input" else ""
        operand = next(iter(maker.tensors), None)
    return ""


def _landmark_notes(view: ModuleView) -> list[str]:
    landmarks, length = view.integer("num_landmarks"), view.integer("seq_len")
    if landmarks is None or length is None:
        return []
    if landmarks == length:
        return [
            f"This configuration has as many landmarks as positions in a sequence ({landmarks}), "
            "so the attention is computed in full, without the Nyström approximation."
        ]
    return [
        f"Nyström approximation: queries and keys are averaged over segments to {landmarks} "
        "landmarks each. The three softmax products with them replace the one of all pairs, so "
        "the cost grows linearly with the number of tokens. The matrix between landmarks is "
        "inverted approximately, in a few iterations (Xiong et al. 2021, section 3)."
    ]


def _formula(attention: Attention) -> Formula:
    heads = attention.heads
    kind = "cross-attention" if heads.is_cross else "self-attention"
    after = " with add & norm" if heads.norm else ""
    manner = "Multi-head" if heads.shared == 1 else "Grouped-query"
    manner = "Multi-query" if heads.shared > 1 and heads.key_heads == 1 else manner
    convolutions = heads.query.is_convolution
    after = " with convolutions" if convolutions else after
    after = " with convolution" if heads.kernel else after
    pairs = heads.rotation is not None and heads.rotation.are_neighbours
    notes = attention_notes(heads, attention.window, attention.distances)
    return Formula(
        title=f"{manner} {kind}{after}",
        summary=f"Every position attends to {_reach(attention)} and forms a weighted mean of their "
        f"values, {count_text(heads.count, 'in one head', 'in {0} heads in parallel')}.",
        maths=(*_maths(attention), *(_pairs(heads) if pairs else ())),
        terms=(*_terms(attention), *(pair_terms(_rotated(heads)) if pairs else ())),
        notes=(*notes[:-1], *_more_notes(attention), notes[-1]),
        config_keys=_keys(attention),
        source=_source_text(attention),
    )


def _rotated(heads: Heads) -> int:
    return heads.size if heads.rotation is None else heads.rotation.size


def _pairs(heads: Heads) -> tuple[str, ...]:
    """Return how pairs are rotated; 10000 is the base of all code that has no key for it."""
    assert heads.rotation is not None
    keys = ("rope_parameters", "rope_theta", "rope_scaling", "rotary_emb_base")
    has_base = any(key in heads.view.config for key in keys)
    return pair_maths(heads.rotation.size, None if has_base else 10000)


def _reach(attention: Attention) -> str:
    heads = attention.heads
    if heads.is_cross:
        if reads_encoder(heads):
            return "the positions of the encoder’s output"
        return "the positions of another input"
    if _windows(heads):
        return "all positions of the same window"
    if attention.window or heads.is_causal is None:
        return "positions of the same sequence"
    return (
        "itself and all earlier positions"
        if heads.is_causal
        else "all positions of the same sequence"
    )


def _windows(heads: Heads) -> int:
    """Return into how many windows an image is split whose positions attend to each other."""
    graph, flows = heads.view.graph, heads.view.architecture.flows
    shape = graph.given[heads.query.source].shape if graph and heads.query.source else ()
    batch = 1 if flows is None else flows.lengths.get("B", 1)
    return shape[0] if len(shape) == 3 and shape[0] > batch and not reads_text(heads.view) else 0


def _keys(attention: Attention) -> tuple[str, ...]:
    heads = attention.heads
    choices = ["width", "heads", "key/value heads", "head size"]
    choices += ["attention dropout", "decoder", "scale"]
    choices += ["epsilon"] if heads.norm or head_norm(heads.query) else []
    choices += ["rotation"] if heads.rotation else []
    choices += ["groups of features"] if heads.query.is_convolution else []
    choices += ["window"] if attention.window else []
    choices += ["distances"] if attention.distances else []
    return heads.view.keys(*choices)


def _source_text(attention: Attention) -> str:
    heads = attention.heads
    found = [PAPER]
    if heads.rotation is not None:
        found.append("rotation: Su et al. 2021, section 3.2")
    if heads.shared > 1 and heads.key_heads == 1:
        found.append("one head of keys and values: Shazeer 2019, section 3")
    elif heads.shared > 1:
        found.append("shared keys: Ainslie et al. 2023, section 2.2")
    if attention.distances is not None and attention.distances.furthest:
        found.append("bias: Raffel et al. 2020, section 2.1")
    elif attention.distances is not None:
        found.append("bias: Liu et al. 2021, section 3.2")
    elif heads.view.integer("relative_attention_num_buckets") is not None:
        found.append("Raffel et al. 2020, section 2.1")
    if heads.query.is_convolution:
        found.append("convolutions: Iandola et al. 2020, section 3")
    if attention.slopes:
        found.append("bias: Press et al. 2022 (ALiBi), section 3")
    if attention.product is not None:
        found.append("distances: Dai et al. 2019 (Transformer-XL), section 3.3")
    if heads.scores.of("cap"):
        found.append("soft-capping: Gemma Team 2024")
    if heads.scores.of("sinks"):
        found.append("sinks: Xiao et al. 2024 and the code of gpt-oss")
    return "; ".join(found)


def _maths(attention: Attention) -> tuple[str, ...]:
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
    text = _scores(attention) + (" + M" if heads.is_masked else "")
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


def _scores(attention: Attention) -> str:
    """Return what goes into the softmax, but for the mask."""
    heads = attention.heads
    query = _wrapped("Q_h", heads.query)
    key = _wrapped(_of_head(heads, "K"), heads.key)
    text = f"{query} {key}^top"
    if heads.first_scale is None:
        text = f"({text}) / {_ROOT}"
    elif heads.first_scale != 1:
        text = f"c thin {text}"
    for change in heads.scores.changes:
        if change.kind == "bias":
            factor = "" if change.number in (1, None) else f"{number_maths(change.number)} thin "
            text = f"{text} + {factor}B_h"
        elif change.kind == "scale" and change.number is not None:
            is_root = heads.unless_usual(change.number) is None
            factor = number_maths(change.number)
            text = f"({text}) / {_ROOT}" if is_root else f"{factor} thin ({text})"
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
    if _ROOT in _scores(attention):
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
        text = f"({text}) / {_ROOT}"
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


def _terms(attention: Attention) -> tuple[Term, ...]:
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
    if _ROOT in _scores(attention):
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


def _more_notes(attention: Attention) -> tuple[str, ...]:
    heads, notes = attention.heads, []
    if attention.slopes:
        notes.append(
            "ALiBi: there are no position vectors. The bias falls linearly with the distance, with "
            "a fixed slope per head. The formula adds m_h j instead of −m_h (i − j): softmax does "
            "not change if all scores of a row change by the same number."
        )
    if attention.product is not None:
        notes.append(
            "Relative positions: a score is the product of a query with the key (content) plus its "
            "product with the projected vector of the distance (position). "
            "u and v replace the query’s own position, as no absolute positions exist."
        )
    if windows := _windows(heads):
        notes.append(
            f"The input is split into {windows} windows; a position attends only to positions of "
            "its own window. Information crosses windows only in other layers."
        )
    if heads.query.is_convolution:
        notes.append(
            "The convolutions look at one position, like linear layers. The module’s tensors have "
            "one column per position; the formula has one row per position."
        )
    if any(step.operation == "clamp" for step in heads.query.steps):
        notes.append("Queries, keys and values are clipped, which bounds the scores.")
    if heads.kernel:
        notes.append(
            f"The convolution adds to each head’s output a weighted sum of the values at the "
            f"{max(heads.kernel)} nearest positions, the same for all features of the head."
        )
    notes += _landmark_notes(heads.view)
    return tuple(notes)


ATTENTION = Template("self-attention", _attention)
