"""Layers and sub-layers: modules with residual connections, and what is said about them."""

from dataclasses import replace
from functools import partial

from bertviewer.core.families.names import is_cross_attention
from bertviewer.core.formulas.facts import follows_cross, has_projected_embeddings
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.templates.feed_forward import DROPOUT, ROW_WISE
from bertviewer.core.formulas.templates.layers import uncalled
from bertviewer.core.formulas.templates.norm import Norm
from bertviewer.core.formulas.templates.residual import (
    Branch,
    child_of,
    residual_path,
)
from bertviewer.core.formulas.templates.residual_text import PathText, text_of, written
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.graph.module_graph import Step

_PRE = ("pre-norm", "each preceded by {} and followed by a residual connection")
_ORDERS = {
    "after": ("post-norm", "each followed by a residual connection and {}", ""),
    "before": (
        *_PRE,
        "Pre-norm: each sub-layer normalises its own input, and the residual path runs from the "
        "first layer to the last without normalisation.",
    ),
    "bare": (
        *_PRE,
        "The first layer has no norm before its attention because the embeddings end with one. "
        "Otherwise it is pre-norm: each sub-layer normalises its own input, and the residual path "
        "is not normalised.",
    ),
    "before inside": (
        "norms before and after",
        "each preceded and followed by {} inside its residual connection",
        "Each sub-layer normalises both its input and its output; the residual path itself is not "
        "normalised.",
    ),
    "inside": (
        "output norm",
        "each followed by {} inside its residual connection",
        "Each sub-layer normalises its output before it is added; the residual path itself is not "
        "normalised.",
    ),
    "": ("without norms", "each followed by a residual connection", ""),
    "mixed": ("mixed norms", "each with a residual connection", ""),
}
"""What a layer is called by the order of its norms, the order in words, and a note."""
_SOURCES = {"pre-norm": "; pre-norm: Radford et al. 2019, section 2.3, and Xiong et al. 2020"}
_PARALLEL_SOURCE = "; parallel: Wang & Komatsuzaki 2021"
_ROW_WISE = {"feed-forward": "feed-forward network processes", "experts": "experts process"}


def _layer(case: str, view: ModuleView) -> Match | None:
    """Return what a residual path computes that has this row of the table of templates."""
    path = residual_path(view)
    text = None if path is None else text_of(view, path)
    if text is None or case != _case_of(view, text):
        return None
    return replace(written(view, text), values=_values(view, text))


def _case_of(view: ModuleView, text: PathText) -> str:
    """Return which row of the table of templates a residual path has, "" for none."""
    branch = text.path.branches[0]
    if text.case:
        return text.case
    if len(text.words) > 1 or branch.kind == "other":
        return "layer" if view.node.name.isdecimal() else "sub-layer"
    is_attention = "attention" in branch.kind
    if text.path.entry is not None or (is_attention and not child_of(view, _attention(branch))):
        return ""
    if is_attention:
        return "block" if text.is_projected and text.path.order == "after" else "attention"
    return "feed-forward"


def _attention(branch: Branch) -> Step:
    return next(step for step in branch.core if step.operation == "attention")


def _values(view: ModuleView, text: PathText) -> dict[str, object]:
    """Return what the texts are filled with."""
    path, words = text.path, text.words
    kinds = [branch.kind for branch in path.branches]
    is_cross, mixes = "cross-attention" in kinds, any("attention" in kind for kind in kinds)
    kind = "Layer" if view.node.name.isdecimal() else "Sub-layer"
    if len(words) > 1 and mixes:
        kind = "Decoder layer" if is_cross else "Transformer layer"
    elif len(words) == 1:
        kind = kind if kinds == ["other"] else f"{kinds[0].capitalize()} sub-layer"
    norm = Norm.of(path.norms[0]) if path.norms else None
    placement, order, where = _ORDERS.get(path.order, _ORDERS["mixed"])
    is_parallel = len({branch.sum.node.id for branch in path.branches}) < len(kinds)
    return {
        "width": view.width_of(path.branches[-1].sum),
        "kind": kind,
        "placement": placement,
        "parallel": ", parallel" if is_parallel else "",
        "one": "One sub-layer" if kind.lower().endswith("sub-layer") else "One layer of the stack",
        "parts": " and ".join((", ".join(words[:-1]), *words[-1:])).removeprefix(" and "),
        "order": order.format(norm and norm.one).removeprefix("each " if len(kinds) == 1 else ""),
        "where": where,
        "addition": "add & norm" if path.order == "after" else "the residual connection",
        "norm": norm and norm.one,
        "post": norm.name if norm and path.order == "after" else "",
        "row_wise": next((text for key, text in _ROW_WISE.items() if mixes and key in kinds), ""),
        "is_network": kind == "Feed-forward sub-layer" or text.case == "second half",
        "is_layer": len(words) > 1 or kinds == ["other"],
        "is_optional": kind == "Decoder layer"
        and view.node.class_module.startswith("transformers."),
        "unused": ", ".join(f"“{name}”" for name in uncalled(view)),
        "source": _SOURCES.get(placement, "") + (_PARALLEL_SOURCE if is_parallel else ""),
        **_surroundings(view, text),
    }


def _surroundings(view: ModuleView, text: PathText) -> dict[str, object]:
    """Return which modules compute the attention, its projection and the residual, in words."""
    branch = text.path.branches[0]
    if text.is_projected:
        inner, outer = child_of(view, _attention(branch)), child_of(view, branch.last)
        return {"both": inner} if inner == outer else {"inner": inner, "outer": outer}
    if text.case == "second half":
        before = "the cross-attention block" if follows_cross(view) else "the attention block"
        return {"added": "H comes from the first half", "skip": "first half", "before": before}
    if text.case != "output":
        return {}
    parent = view.at(view.node.parent or "")
    steps = () if parent is None or parent.graph is None else parent.graph.of("attention")
    names = {child_of(parent, step) for step in steps if parent is not None} - {""}
    name = f"the sibling “{names.pop()}”" if len(names) == 1 else "the attention"
    table = "embeddings_project" if has_projected_embeddings(view) else "the embeddings"
    before = f"the previous layer or of {table}"
    if is_cross_attention(view.node.path):
        before = "the layer’s self-attention block"
    return {"added": f"Z comes from {name}", "skip": "attention", "before": before}


_NOTES = (
    "Its children are the parts: “{inner}” is the attention, “{outer}” the output projection with "
    "{addition}.",
    "The child “{both}” is the attention with its output projection; the norm belongs to this "
    "module.",
    "The module has two inputs: {added}, and R is the input of the {skip}, that is, the output of "
    "{before}.",
    "Residual connection: each sub-layer’s input is added to its output, so that it need only "
    "learn a correction. The two must have the same shape, and gradients pass through the sum "
    "unchanged.",
    Note(ROW_WISE, "is_network"),
    "Post-norm: the {post} follows the addition, as in the original Transformer, so the residual "
    "path itself is normalised in every layer.",
    "{where}",
    Note(
        "Parallel sub-layers: attention and feed-forward network read the same input, and both are "
        "added to it in one step. The two can be computed at the same time.",
        "parallel",
    ),
    "Attention moves information between positions; the {row_wise} each position independently.",
    Note(
        "Input and output have the same shape, [S, {width}], so layers can be stacked.", "is_layer"
    ),
    Note("Cross-attention runs only when encoder hidden states are given.", "is_optional"),
    "Not used in this forward pass: {unused}.",
    DROPOUT,
)
_PATTERN = ("{kind}, {placement}{parallel}", "{one}: {parts}, {order}.")
_LAYER_KEYS = ("width", "heads", "feed-forward", "activation", "norm first")

LAYER = tuple(
    Template(role, partial(_layer, case), title, summary, _NOTES, keys, f"{source}{{source}}")
    for case, role, title, summary, keys, source in (
        ("layer", "layer", *_PATTERN, _LAYER_KEYS, "Vaswani et al. 2017, section 3.1"),
        ("sub-layer", "sub-layer", *_PATTERN, _LAYER_KEYS, "Vaswani et al. 2017, section 3.1"),
        (
            *("output", "add & norm", "Output projection, add & norm"),
            "Mixes the heads’ outputs, adds the attention’s input (the residual) and normalises "
            "the sum.",
            ("width", "groups of features", "epsilon", "dropout"),
            "Vaswani et al. 2017, sections 3.1 and 3.2.2; He et al. 2016, section 3",
        ),
        (
            *("add & norm", "add & norm", "Add & norm"),
            "Adds the sub-layer’s input (the residual) to its output and normalises the sum.",
            ("width", "epsilon"),
            "Vaswani et al. 2017, section 3.1; He et al. 2016, section 3",
        ),
        (
            *("second half", "feed-forward, second half"),
            "Feed-forward network, second half, add & norm",
            "Projects each vector back to {width} features, adds the network’s input (the "
            "residual) and normalises the sum.",
            ("width", "feed-forward", "groups of features", "epsilon", "dropout"),
            "Vaswani et al. 2017, sections 3.1 and 3.3",
        ),
        (
            *("add", "add", "Projection and residual"),
            "Projects each vector to {width} features and adds the sub-layer’s input (the "
            "residual).",
            ("width", "dropout"),
            "He et al. 2016, section 3; Radford et al. 2019, section 2.3",
        ),
        (
            *("block", "attention block", "Attention block"),
            "The first sub-layer of a layer: attention, its output projection, the residual "
            "connection and {norm}.",
            ("width", "heads", "epsilon"),
            "Vaswani et al. 2017, sections 3.1 and 3.2",
        ),
        (
            *("attention", "attention block", *_PATTERN),
            ("width", "heads", "epsilon"),
            "Vaswani et al. 2017, sections 3.1 and 3.2",
        ),
        (
            *("feed-forward", "feed-forward sub-layer", *_PATTERN),
            ("width", "feed-forward", "experts", "activation", "epsilon", "dropout"),
            "Vaswani et al. 2017, sections 3.1 and 3.3",
        ),
    )
)
