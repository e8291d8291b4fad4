"""Modules that add one input, or a projection of it, to another: the second part of a sub-layer."""

from collections.abc import Callable

from bertviewer.core.families.names import is_cross_attention
from bertviewer.core.formulas.facts import follows_cross, has_projected_embeddings
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.templates.feed_forward import DROPOUT, ROW_WISE, half_of_network
from bertviewer.core.formulas.templates.layer import POST_NORM, RESIDUAL, normed
from bertviewer.core.formulas.templates.norm import Norm
from bertviewer.core.formulas.templates.residual import child_of, residual_path
from bertviewer.core.formulas.templates.template import Match, Template

_ADDITIONS = {
    "add & norm": ("Z", "output of the sub-layer", "the input of the sub-layer", "", ""),
    "output": (
        *("Z", "outputs of the heads, side by side", "the input of the attention"),
        *("the output projection", "O"),
    ),
    "second half": (
        *("H", "output of the first half", "the input of the first half"),
        *("the second linear layer", "2"),
    ),
    "projection": (
        *("Z", "output of the preceding part", "the input of the sub-layer, not normalised"),
        *("the projection", ""),
    ),
}
"""What is added: its symbol and meaning, what R is, whose weights project it, and their index."""


def _addition(case: str) -> Callable[[ModuleView], Match | None]:
    """Return a function that matches one of ``_ADDITIONS``."""
    symbol, meaning, residual, use, index = _ADDITIONS[case]

    def match(view: ModuleView) -> Match | None:
        path, graph = residual_path(view), view.graph
        branches = () if path is None or path.entry else path.branches
        if path is None or graph is None or [each.kind for each in branches] != ["input"]:
            return None
        core, after = branches[0].core, path.sub_layers[0].after
        dense = view.affine_of(core[0]) if core else None
        found = "add & norm" if after and not core else ""
        if dense is not None:
            is_second = half_of_network(view) == "second"
            found = "projection" if not after else "second half" if is_second else "output"
        if found != case:
            return None
        width = view.width_of(graph.of("residual")[0])
        inputs = width if dense is None else dense.inputs
        added = sized(symbol, "S", inputs)
        added = added if dense is None else dense.maths(added, index)
        total = f"{added} + {sized('R', 'S', width)}"
        line = f"{sized('Y', 'S', width)} = {normed(after, total)}"
        terms = (
            TOKENS,
            Term(symbol, meaning, f"[S, {inputs}]"),
            Term("R", f"residual: {residual}", f"[S, {width}]"),
            *(() if dense is None else dense.terms(use, index)),
            *(() if after is None else Norm.of(after).terms),
        )
        values = {
            "outputs": width,
            "post": after and Norm.of(after).name,
            "attention": _attention(view),
            "block": "cross-attention block" if follows_cross(view) else "attention block",
            "before": _before(view),
        }
        return Match((line,), terms, values)

    return match


def _before(view: ModuleView) -> str:
    """Return what computes the input of the attention before a module, in words."""
    if is_cross_attention(view.node.path):
        return "the layer’s self-attention block"
    table = "embeddings_project" if has_projected_embeddings(view) else "the embeddings"
    return f"the previous layer or of {table}"


def _attention(view: ModuleView) -> str:
    """Return the sibling that computes the attention, in words."""
    parent = view.at(view.node.parent or "")
    steps = () if parent is None or parent.graph is None else parent.graph.of("attention")
    names = {child_of(parent, step) for step in steps if parent is not None} - {""}
    return f"the sibling “{names.pop()}”" if len(names) == 1 else "the attention"


SUB_LAYERS = (
    Template(
        "add & norm",
        _addition("output"),
        "Output projection, add & norm",
        "Mixes the heads’ outputs, adds the attention’s input (the residual) and normalises the "
        "sum.",
        (
            "The module has two inputs: Z comes from {attention}, and R is the input of the "
            "attention, that is, the output of {before}.",
            RESIDUAL,
            POST_NORM,
            DROPOUT,
        ),
        ("width", "groups of features", "epsilon", "dropout"),
        "Vaswani et al. 2017, sections 3.1 and 3.2.2; He et al. 2016, section 3",
    ),
    Template(
        "add & norm",
        _addition("add & norm"),
        "Add & norm",
        "Adds the sub-layer’s input (the residual) to its output and normalises the sum.",
        (RESIDUAL, POST_NORM),
        ("width", "epsilon"),
        "Vaswani et al. 2017, section 3.1; He et al. 2016, section 3",
    ),
    Template(
        "feed-forward, second half",
        _addition("second half"),
        "Feed-forward network, second half, add & norm",
        "Projects each vector back to {outputs} features, adds the network’s input (the residual) "
        "and normalises the sum.",
        (
            "The module has two inputs: H comes from the first half, and R is the input of the "
            "first half, that is, the output of the {block}.",
            RESIDUAL,
            ROW_WISE,
            POST_NORM,
            DROPOUT,
        ),
        ("width", "feed-forward", "groups of features", "epsilon", "dropout"),
        "Vaswani et al. 2017, sections 3.1 and 3.3",
    ),
    Template(
        "add",
        _addition("projection"),
        "Projection and residual",
        "Projects each vector to {outputs} features and adds the sub-layer’s input (the residual).",
        (RESIDUAL, DROPOUT),
        ("width", "dropout"),
        "He et al. 2016, section 3; Radford et al. 2019, section 2.3",
    ),
)
