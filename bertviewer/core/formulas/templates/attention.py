"""Attention in heads as one module computes it."""

from dataclasses import replace

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import NO_PARAMETERS
from bertviewer.core.formulas.steps.formula import SOURCE, formula_of_steps
from bertviewer.core.formulas.templates.attention_maths import (
    head_norm,
    output_lines,
    pair_lines,
    projection_lines,
    score_lines,
)
from bertviewer.core.formulas.templates.attention_texts import (
    CAUSAL,
    DROPOUT,
    KEYS,
    LANDMARKS,
    NOTES,
    attention_match,
)
from bertviewer.core.formulas.templates.attention_values import landmarks_of, values_of
from bertviewer.core.formulas.templates.attention_variants import OTHERS, SPARSE
from bertviewer.core.formulas.templates.heads import own_attentions, sole_heads, source_of
from bertviewer.core.formulas.templates.position_scores import bias_of
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.text.numerals import count_text

_BASES = ("rope_parameters", "rope_theta", "rope_scaling", "rotary_emb_base")
"""Keys for the base of the angles; it is 10000 in all code that has none of them."""


def _attention(view: ModuleView) -> Match | None:
    heads = sole_heads(view)
    bias = None if heads is None else bias_of(heads)
    if heads is None or bias is None or heads.scores.factor is None:
        return None
    if bias.values.get("is_masked"):  # a mask was added to the rows of the table
        heads = replace(heads, is_masked=True)
    window, rotation = _window(view), heads.query.step("rotary")
    base = None if any(key in view.config for key in _BASES) else 10000
    lines = (
        *projection_lines(heads),
        *score_lines(heads, is_long="R_(h" in " ".join(bias.lines)),
        *bias.lines,
        *output_lines(heads),
        *pair_lines(rotation, heads.size, base),
    )
    values = values_of(heads, bias.values, window)
    after = " with convolutions" if values["is_convolution"] else ""
    after = " with convolution" if heads.kernel else after
    sources = {
        "Vaswani et al. 2017, sections 3.2.1 and 3.2.2": True,
        "rotation: Su et al. 2021, section 3.2": rotation,
        "one head of keys and values: Shazeer 2019, section 3": values["manner"] == "Multi-query",
        "shared keys: Ainslie et al. 2023, section 2.2": values["manner"] == "Grouped-query",
        values.get("bias_source"): "bias_source" in values,
        "Raffel et al. 2020, section 2.1": values["has_buckets"] and "bias_source" not in values,
        "convolutions: Iandola et al. 2020, section 3": values["is_convolution"],
        "soft-capping: Gemma Team 2024": values["cap"],
        "sinks: Xiao et al. 2024 and the code of gpt-oss": values["sinks"],
    }
    values |= {
        "after": " with add & norm" if heads.norm else after,
        "sources": "; ".join(str(source) for source, is_used in sources.items() if is_used),
    }
    keys = {
        "epsilon": heads.norm or head_norm(heads.query),
        "rotation": rotation,
        "groups of features": values["is_convolution"],
        "window": window,
        "distances": "table" in values,
    }
    used = view.keys(*(key for key, is_used in keys.items() if is_used))
    return attention_match(heads, lines, values, entries=bias.terms, keys=used)


def _window(view: ModuleView) -> int | None:
    """Return how many positions back a module's sliding window reaches, ``None`` without one."""
    names: tuple[str, ...] = ("sliding_window", "attention_window_size")
    for name in names:
        if name in view.node.attributes:
            return view.integer(name)
    kinds = view.config.get("layer_types")
    if isinstance(kinds, list | tuple) and set(kinds) != {"sliding_attention"}:
        return None
    if view.config.get("use_sliding_window") is False:
        return None
    if view.attribute("attention_type") == "local":  # of a model with global layers as well
        names = ("window_size",)
    found = [view.config.get(name) for name in names]
    return next((each for each in found if isinstance(each, int)), None)


def _by_steps(view: ModuleView) -> Match | None:
    """An attention with unusual steps: as the code executes them, with what is certain."""
    graph, own = view.graph, own_attentions(view)
    steps = formula_of_steps(view) if own else None
    if graph is None or steps is None:
        return None
    count = own[0].node.details.get("heads")
    query, key = (source_of(graph, own[0].roles.get(role)) for role in ("query", "key"))
    is_cross = len(graph.inputs) > 1 and query != key and "" not in (query, key)
    heads = count_text(count, ", in one head", ", in {0} heads") if isinstance(count, int) else ""
    values = {
        "kind": "cross-attention" if is_cross else "self-attention",
        "after": " with convolution" if graph.of("convolution") else "",
        "in_heads": heads,
        "is_causal": own[0].node.details.get("causal") and not is_cross,
        "traced": steps.notes[0],
        **landmarks_of(view),
    }
    return Match(steps.maths, steps.terms, values)


def _product(view: ModuleView) -> Match | None:
    step = None if view.graph is None else view.graph.only
    if step is None or step.operation not in ("matmul", "bmm") or view.tensors:
        return None
    if len({operand.node for operand in step.tensors}) != 2:
        return None
    left, right = "the first input: queries, or probabilities", "the second input: keys, or values"
    return Match(("Y = A B",), (Term("A", left), Term("B", right), Term("Y", "their product")))


def _softmax(view: ModuleView) -> Match | None:
    step = None if view.graph is None else view.graph.only
    if step is None or step.operation != "softmax" or view.tensors:
        return None
    terms = (Term("x_i", "score i"), Term("p_i", "its probability"))
    return Match(("p_i = e^(x_i) / (sum_j e^(x_j))",), terms)


ATTENTION = (
    *SPARSE,
    Template(
        "self-attention",
        _attention,
        title="{manner} {kind}{after}",
        summary="Every position attends to {reach} and forms a weighted mean of their values, "
        "{in_heads}.",
        notes=NOTES,
        keys=KEYS,
        source="{sources}",
    ),
    *OTHERS,
    Template(
        "self-attention",
        _by_steps,
        title="Multi-head {kind}{after}",
        summary="Positions attend to each other and form weighted means of their values{in_heads}; "
        "the formula lists the steps of this variant as the code executes them.",
        notes=(CAUSAL, *LANDMARKS, DROPOUT, "{traced}"),
        keys=("width", "heads", "key/value heads", "head size", "distances"),
        source=SOURCE,
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
