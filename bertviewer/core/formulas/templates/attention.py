"""Self-attention and cross-attention in heads, as one module computes it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.attention_maths import (
    Attention,
    attention_maths,
    head_norm,
    pair_lines,
)
from bertviewer.core.formulas.templates.attention_notes import (
    CAUSAL,
    DROPOUT_OF_PROBABILITIES,
    attention_notes,
    landmark_notes,
    windows_of,
)
from bertviewer.core.formulas.templates.attention_terms import attention_terms
from bertviewer.core.formulas.templates.disentangled import disentangled_formula
from bertviewer.core.formulas.templates.heads import (
    Heads,
    heads_of,
    own_attentions,
    reads_encoder,
    torch_heads,
)
from bertviewer.core.formulas.templates.latent_attention import latent_formula
from bertviewer.core.formulas.templates.position_scores import distances_of, products_of
from bertviewer.core.formulas.templates.rotation import pair_terms
from bertviewer.core.formulas.templates.scores import UnknownScoresError
from bertviewer.core.formulas.templates.sparse_attention import sparse_formula, sparse_heads
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.text.numerals import count_text

PAPER = "Vaswani et al. 2017, sections 3.2.1 and 3.2.2"


def _attention(view: ModuleView) -> Formula | None:
    """An attention module: its own code computes an attention (Vaswani et al. 2017, 3.2)."""
    own = own_attentions(view)
    if (heads := sparse_heads(view)) is not None:
        return sparse_formula(heads, _formula(Attention(heads, added="log N")))
    if view.graph is None and view.node.class_name == "MultiheadAttention":
        is_torch = view.node.class_module.startswith("torch.nn.modules.")
        heads = torch_heads(view, None) if is_torch else None
        return None if heads is None else _formula(Attention(heads))
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
    if heads.scores.factor is None or any(heads.scores.mixers):
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
    names: tuple[str, ...] = ("sliding_window", "attention_window_size")
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
    notes += landmark_notes(view)
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
    return Formula(
        title=f"{manner} {kind}{after}",
        summary=f"Every position attends to {_reach(attention)} and forms a weighted mean of their "
        f"values, {count_text(heads.count, 'in one head', 'in {0} heads in parallel')}.",
        maths=(*attention_maths(attention), *(pair_lines(heads) if pairs else ())),
        terms=(*attention_terms(attention), *(pair_terms(_rotated(heads)) if pairs else ())),
        notes=attention_notes(attention),
        config_keys=_keys(attention),
        source=_source_text(attention),
    )


def _rotated(heads: Heads) -> int:
    return heads.size if heads.rotation is None else heads.rotation.size


def _reach(attention: Attention) -> str:
    heads = attention.heads
    if heads.is_cross:
        if reads_encoder(heads):
            return "the positions of the encoder’s output"
        return "the positions of another input"
    if windows_of(heads):
        return "all positions of the same window"
    if attention.window or heads.is_causal is None:
        return "positions of the same sequence"
    return (
        "itself and all earlier positions"
        if heads.is_causal
        else "all positions of the same sequence"
    )


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


ATTENTION = Template("self-attention", _attention)
