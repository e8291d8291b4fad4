"""Attention modules: their lines and terms, and modules that are one step of an attention."""

import re

from msgspec.structs import replace

from bertviewer.core.formulas.formula import (
    GROUP,
    NO_PARAMETERS,
    ROTATION,
    SOFTMAX,
    Term,
    indices,
    listing,
    number_maths,
    sized,
)
from bertviewer.core.formulas.module_view import ModuleView, dropout_of_probabilities, has_positions
from bertviewer.core.formulas.norm import Norm
from bertviewer.core.formulas.steps.attention import ROOT, Change, learned_query, score_maths
from bertviewer.core.formulas.steps.expression import PRODUCT, Expression
from bertviewer.core.formulas.steps.graph_analysis import ROLES
from bertviewer.core.formulas.steps.lines import TRACED, formula_of_steps
from bertviewer.core.formulas.template import Match, Template, filled
from bertviewer.core.formulas.templates import attention_texts as texts
from bertviewer.core.formulas.templates.attention_values import landmarks_of, values_of
from bertviewer.core.formulas.templates.attention_variants import latent_attention, sparse_attention
from bertviewer.core.formulas.templates.heads import (
    Heads,
    Projection,
    Variant,
    input_of,
    own_attentions,
    sole_heads,
)
from bertviewer.core.formulas.templates.position_biases import bias_of
from bertviewer.core.formulas.templates.rotary import pair_lines
from bertviewer.core.sources.families import is_cross_attention
from bertviewer.core.util.numbers import count_text

_POSITIONS_ATTEND = "Positions attend to each other and form weighted means of their values"
_LEARNED_QUERY_ATTENDS = (
    "A learned query attends to all positions and forms a weighted mean of their values"
)
_BASES = ("rope_parameters", "rope_theta", "rope_scaling", "rotary_emb_base")
"""Keys for the base of the angles; it is 10000 in all code that has none of them."""

_MAX_LENGTH = 60
"""Longer scores need a line for themselves."""


def attention_lines(heads: Heads, variant: Variant) -> tuple[str, ...]:
    """Return all lines of an attention."""
    rotation = heads.query.step("rotary")
    base = None if any(key in heads.view.config for key in _BASES) else 10000
    # Lines that replace the scores come before them, others after them.
    lines, is_instead = _score_lines(heads, variant), "{}" not in variant.scores
    return (
        *(variant.projection_lines or _projection_lines(heads)),
        *((*variant.lines, *lines) if is_instead else (*lines, *variant.lines)),
        *_output_lines(heads),
        *(variant.last or pair_lines(rotation, heads.size, base)),
    )


def _projection_lines(heads: Heads) -> tuple[str, ...]:
    """Return the lines of queries, keys and values."""
    other = "X" if not heads.is_cross else 'X_"enc"' if heads.reads_encoder else 'X_"kv"'
    values = other if heads.value.source == heads.key.source else "X_V"
    query = _projected(heads, heads.query, sized("X", "S", heads.query.layer.inputs), "Q")
    key = _projected(heads, heads.key, other, "K")
    value = _projected(heads, heads.value, values, "V")
    return query, f"{key}, quad {value}"


def _projected(heads: Heads, part: Projection, states: str, letter: str) -> str:
    """Return queries, keys or values, with sizes for queries and if they differ from those."""
    outputs = part.layer.outputs
    sizes = letter == "Q" or outputs != heads.query.layer.outputs
    text = part.layer.maths(states, letter, sizes=sizes)
    for step in part.steps:
        if step in part.norms(of_heads=False):
            text = f"{Norm.of(step).operator}({text})"
        elif step.operation == "clamp":
            text = f'op("clip")({text})'
    return f"{sized(letter, 'S', outputs) if sizes else letter} = {text}"


def _of_head(heads: Heads, letter: str, part: Projection) -> str:
    """Return a head's queries, keys or values with norms, rotations and additions."""
    symbol = f"{letter}_h"
    if letter != "Q" and heads.shared > 1:
        symbol = letter if heads.key_heads == 1 else f"{letter}_({GROUP}(h))"
    for step in part.steps:
        if step.operation == "rotary":
            symbol = f"{ROTATION}({symbol})"
        elif step in part.norms(of_heads=True):
            symbol = f"{Norm.of(step).operator}({symbol})"
        elif step.operation == "add":
            symbol = f"({symbol} + u_h)"
    return symbol


def _score_lines(heads: Heads, variant: Variant) -> tuple[str, ...]:
    """Return the lines of probabilities, heads' outputs, and the range of h."""

    def added(change: Change) -> Expression | None:
        return Expression("B_h") if change.kind == "bias" else None

    query, key = _of_head(heads, "Q", heads.query), _of_head(heads, "K", heads.key)
    product = Expression(f"{query} {key}^top", PRODUCT)
    text = score_maths(heads.scores, product, heads.size, added, "alpha").text
    text = variant.scores.format(text) + (" + M" if heads.is_masked else "")
    source = "S'" if heads.is_cross else "S"
    value = _of_head(heads, "V", heads.value)
    output = f"{sized('O_h', 'S', heads.value_size)} = P_h {value}"
    output += f" + w_h ast {value}" if heads.kernel else ""
    lines: tuple[str, ...] = (f"{sized('P_h', 'S', source)} = {SOFTMAX} ({text})", output)
    if heads.scores.of("sinks"):
        lines = (
            f"{sized('Z_h', 'S', source)} = {text}",
            "p_(h, i j) = upright(e)^(z_(h, i j)) / "
            "(upright(e)^(z_h) + sum_k upright(e)^(z_(h, i k)))",
            output,
        )
    elif len(text) < _MAX_LENGTH:
        lines = (", quad ".join(lines),)
    definitions = {
        f"h = {indices(heads.count)}": True,
        f"{GROUP}(h) = floor(h \\/ {heads.shared})": GROUP in text,
        f"d_k = {heads.size}": ROOT in text,
        f"alpha = {number_maths(heads.scores.factor or 1)}": "alpha thin" in text,
    }
    return (*lines, ", quad ".join(line for line, is_used in definitions.items() if is_used))


def _output_lines(heads: Heads) -> tuple[str, ...]:
    """Return the lines of concatenation, output projection and residual."""
    joined = f'op("Concat")({listing("O_{}", heads.count)})'
    width = heads.count * heads.value_size
    if heads.output is None:
        return (f"{sized('Y', 'S', width)} = {joined}",)
    projected = heads.output.maths("O", "O")
    if heads.residual:
        projected = (
            f"{'X' if heads.residual == heads.query.source else texts.RESIDUAL} + {projected}"
        )
        projected = f"{heads.norm.operator}({projected})" if heads.norm else projected
    made = f"{sized('Y', 'S', heads.output.outputs)} = {projected}"
    return f"{sized('O', 'S', width)} = {joined}", made


def _attention(view: ModuleView) -> Match | None:
    matchers = (sparse_attention, _common, latent_attention, _not_called)
    found = next((found for matcher in matchers if (found := matcher(view)) is not None), None)
    if found is None:
        return None
    heads, variant = found
    lines = attention_lines(heads, variant)
    values = values_of(heads, variant)
    rotation = heads.query.step("rotary")
    sources = {
        "Vaswani et al. 2017, sections 3.2.1 and 3.2.2": True,
        "rotation: Su et al. 2021, section 3.2": rotation,
        "one head of keys and values: Shazeer 2019, section 3": values["is_multi_query"],
        "shared keys: Ainslie et al. 2023, section 2.2": values["is_grouped"],
        values.get("bias_source"): "bias_source" in values,
        "Raffel et al. 2020, section 2.1": "bias_source" not in values
        and view.integer("relative_attention_num_buckets") is not None,
        "convolutions: Iandola et al. 2020, section 3": values["is_convolution"],
        "soft-capping: Gemma Team 2024": values["cap"],
        "sinks: Xiao et al. 2024 and the code of gpt-oss": values["sinks"],
    }
    listed = "; ".join(str(source) for source, is_used in sources.items() if is_used)
    keys = {
        "epsilon": heads.norm or heads.query.norms(of_heads=True),
        "rotation": rotation,
        "groups of features": values["is_convolution"],
        "window": values["window"],
    }
    used = view.config_keys(*(key for key, is_used in keys.items() if is_used))
    return Match(
        lines,
        _terms(heads, variant, lines, values),
        {
            "sources": listed,
            "dropout": dropout_of_probabilities(view),
            "has_positions": has_positions(view),
            **values,
        },
        (*used, *variant.keys),
    )


def _common(view: ModuleView) -> tuple[Heads, Variant] | None:
    heads = sole_heads(view)
    bias = None if heads is None else bias_of(heads)
    if heads is None or bias is None or (heads.scores.factor is None and "{}" in bias.scores):
        return None
    return replace(heads, is_masked=heads.is_masked or bool(bias.values.get("has_mask"))), bias


def _not_called(view: ModuleView) -> tuple[Heads, Variant] | None:
    """Return an attention that is not called, as its sibling of the same class."""
    siblings = () if view.is_called else view.architecture.children(view.node.parent or "")
    for node in siblings:
        twin = view.at(node.path) if node.class_name == view.node.class_name else None
        heads = None if twin is None else sole_heads(twin)
        if heads is not None:
            own = replace(heads, view=view, is_cross=is_cross_attention(view.node.path))
            hidden = {"hidden": "chosen by the caller", "is_causal": None}
            reach = {} if own.is_cross else {"reach": "positions of the same sequence"}
            return own, Variant(values={"twin": node.name, **hidden, **reach})
    return None


def _terms(
    heads: Heads, variant: Variant, lines: tuple[str, ...], values: dict[str, object]
) -> tuple[Term, ...]:
    """Return the terms of the symbols in the lines; those with missing values are omitted."""
    layers = (
        t
        for r, s in ROLES.items()
        for t in heads.projections[r].layer.terms(f"the {r} projection", s)
    )
    norms = [term for step in heads.query.norms(of_heads=False) for term in Norm.of(step).terms]
    for norm in map(Norm.of, heads.query.norms(of_heads=True)[:1]):
        meaning = norm.meaning.replace("each position’s vector", "each head’s vectors")
        norms = [Term(norm.operator, meaning, f"[{heads.size}]")]
    known = (
        *(*texts.INPUTS, *layers, *variant.layer_terms, *texts.HEADS, *norms[:1]),
        *(*texts.CHANGES, *variant.terms, *texts.PROBABILITIES),
        *(heads.output.terms("the output projection", "O") if heads.output else ()),
        *((texts.RESIDUAL_TERM,) if heads.residual not in ("", heads.query.source) else ()),
        *(heads.norm.terms if heads.norm else ()),
        *texts.PAIRS,
    )
    whole, terms = " ".join(lines), dict[str, Term]()
    for each in known:
        symbol = re.escape(each.symbol.split(", ")[0])
        meaning = filled(each.meaning, values)
        if meaning and re.search(rf"(?<![\w\"^]){symbol}(?![\w'])", whole):
            terms.setdefault(
                each.symbol, Term(each.symbol, meaning, filled(each.value or "", values) or None)
            )
    if not heads.is_text:
        terms["S"] = Term("S", "number of positions, without the batch")
    return tuple(terms.values())


def _by_steps(view: ModuleView) -> Match | None:
    """An attention with unusual steps, as the code executes them."""
    graph, own = view.graph, own_attentions(view)
    steps = formula_of_steps(view) if own else None
    if steps is None:
        return None
    count = own[0].node.details.get("heads")
    query, key = (input_of(graph, own[0].roles.get(role)) for role in ("query", "key"))
    is_cross = len(graph.inputs) > 1 and query != key and "" not in (query, key)
    heads = count_text(count, ", in one head", ", in {0} heads") if isinstance(count, int) else ""
    kind, attend = "cross-attention" if is_cross else "self-attention", _POSITIONS_ATTEND
    if learned_query(own[0]) is not None:
        kind, attend = "attention with a learned query", _LEARNED_QUERY_ATTENDS
    values = {
        "kind": kind,
        "after": " with convolution" if graph.of("convolution") else "",
        "attend": attend,
        "in_heads": heads,
        "is_causal": own[0].node.details.get("causal") and not is_cross,
        "traced": steps.notes[0],
        "dropout": dropout_of_probabilities(view),
        **landmarks_of(view),
    }
    return Match(steps.maths, steps.terms, values)


def _softmax(view: ModuleView) -> Match | None:
    if view.only("softmax") is None or view.tensors:
        return None
    terms = (Term("x_i", "score i"), Term("p_i", "its probability"))
    return Match(("p_i = upright(e)^(x_i) / (sum_j upright(e)^(x_j))",), terms)


def _product(view: ModuleView) -> Match | None:
    step = view.only("matmul")
    if step is None or view.tensors or len({operand.node for operand in step.tensors}) != 2:
        return None
    left, right = "the first input: queries, or probabilities", "the second input: keys, or values"
    return Match(
        ("Y = X_1 X_2",), (Term("X_1", left), Term("X_2", right), Term("Y", "their product"))
    )


ATTENTION = (
    Template(
        "self-attention",
        _attention,
        title="{manner} {kind}{after}",
        summary="Every position attends to {reach} and forms a weighted mean of their values, "
        "{in_heads}{ending}.",
        notes=texts.NOTES,
        keys=(
            *("width", "heads", "key/value heads", "head size"),
            *("attention dropout", "decoder", "scale"),
        ),
        source="{sources}",
    ),
    Template(
        "self-attention",
        _by_steps,
        title="Multi-head {kind}{after}",
        summary="{attend}{in_heads}; the formula lists the steps of this variant as the code "
        "executes them.",
        notes=(texts.CAUSAL, *texts.LANDMARKS, texts.DROPOUT, "{traced}"),
        keys=("width", "heads", "key/value heads", "head size", "distances"),
        source=TRACED,
    ),
    Template(
        "product",
        _product,
        title="Matrix product",
        summary="Multiplies two matrices; it is a separate module only so that its operations can "
        "be counted.",
        notes=(NO_PARAMETERS,),
        source="transformers’ code",
    ),
    Template(
        "softmax",
        _softmax,
        title="Softmax",
        summary="Converts scores to probabilities, which are positive and sum to 1.",
        notes=(NO_PARAMETERS,),
        source="torch.nn.Softmax",
    ),
)
"""Attention in all its variants, and modules that are one step of it."""
