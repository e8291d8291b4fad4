"""Modules with one residual connection: around attention, a network, or another module's output."""

from collections.abc import Callable

from bertviewer.core.families.names import is_cross_attention
from bertviewer.core.formulas.facts import follows_cross, has_projected_embeddings
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.templates.feed_forward import DROPOUT, ROW_WISE, half_of_network
from bertviewer.core.formulas.templates.layer import (
    ENCODER_OUTPUT,
    POST_NORM,
    RESIDUAL,
    Part,
    called,
    match_path,
    normed,
    part_of,
)
from bertviewer.core.formulas.templates.norm import Norm
from bertviewer.core.formulas.templates.residual import (
    Branch,
    ResidualPath,
    child_of,
    residual_path,
)
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


def _sole(view: ModuleView, *kinds: str) -> tuple[ResidualPath, Branch, Step | None] | None:
    """Return the path of a module with one branch, of these kinds, and the norm of the sum."""
    path = None if view.graph is None else residual_path(view.graph)
    if path is None or path.entry is not None or len(path.branches) > 1:
        return None
    branch = path.branches[0]
    own = [s for s in branch.core if s.operation == "attention" and s.node.path == view.node.path]
    if own or branch.kind not in kinds or branch.inside is not None:
        return None
    return path, branch, path.sub_layers[0].after


def _total(added: str, skip: str, width: int, after: Step | None) -> str:
    total = f"{added} + {sized(skip, 'S', width)}"
    return f"{sized('Y', 'S', width)} = {normed(after, total)}"


def _addition(name: str) -> Callable[[ModuleView], Match | None]:
    """Return a function that matches modules that add one input to another or its projection."""
    symbol, meaning, residual, use, index = _ADDITIONS[name]

    def match(view: ModuleView) -> Match | None:
        found = _sole(view, "input")
        if found is None or view.graph is None:
            return None
        _, branch, after = found
        width = view.width_of(view.graph.of("residual")[0])
        dense = view.affine_of(branch.last) if branch.core else None
        if name != _name_of(view, branch, after) or bool(dense) != bool(branch.core):
            return None
        inputs = width if dense is None else dense.inputs
        added = sized(symbol, "S", inputs)
        added = added if dense is None else dense.maths(added, index)
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
            "attention": _attention_name(view),
            "block": "cross-attention block" if follows_cross(view) else "attention block",
            "before": _before(view),
        }
        return Match((_total(added, "R", width, after),), terms, values)

    return match


def _name_of(view: ModuleView, branch: Branch, after: Step | None) -> str:
    if after is None:
        return "projection" if branch.core else ""
    if not branch.core:
        return "add & norm"
    return "second half" if half_of_network(view) == "second" else "output"


def _before(view: ModuleView) -> str:
    """Return what computes the input of the attention before a module, in words."""
    if is_cross_attention(view.node.path):
        return "the layer’s self-attention block"
    table = "embeddings_project" if has_projected_embeddings(view) else "the embeddings"
    return f"the previous layer or of {table}"


def _attention_name(view: ModuleView) -> str:
    """Return the sibling that computes the attention, in words."""
    for place in places(view):
        linear = next((step for step in place.steps if step.operation == "linear"), None)
        made_by = None if linear is None else place.graph.maker(linear.tensors[0])
        if made_by is not None and made_by.operation == "attention" and made_by.node.path:
            parent = view.node.path.rpartition(".")[0]
            name = made_by.node.path.removeprefix(f"{parent}.").partition(".")[0]
            return f"the sibling “{name}”"
    return "the attention"


def _block(view: ModuleView) -> Match | None:
    """Attention in a child, its projection, the residual and a norm (Vaswani et al. 2017, 3.1)."""
    found = _sole(view, "attention", "cross-attention")
    if found is None:
        return None
    _, branch, after = found
    norm = after or branch.before
    dense = view.affine_of(branch.last) if branch.last.operation == "linear" else None
    children = [child_of(view, step) for step in branch.core]
    if dense is None or norm is None or (len({*children}) == 1 and branch.before is not None):
        return None
    is_cross, of = branch.kind == "cross-attention", Norm.of(norm)
    attention = next(step for step in branch.core if step.operation == "attention")
    inner, outer = child_of(view, attention), children[-1]
    name = '"CrossAttention"' if is_cross else '"SelfAttention"'
    heads = sized("Z", "S", dense.inputs)
    rest = "attention, its output projection"
    return Match(
        (
            f"{heads} = {called(branch, name, normed(branch.before, 'X'))}",
            _total(dense.maths(heads, "O"), "X", dense.outputs, after),
        ),
        (
            TOKENS,
            Term("X", "input, one row per position", f"[S, {dense.outputs}]"),
            *((ENCODER_OUTPUT,) if is_cross else ()),
            Term("Z", "outputs of the heads, side by side", f"[S, {dense.inputs}]"),
            *dense.terms("the output projection", "O"),
            *of.terms,
        ),
        {
            "order": "" if after else ", pre-norm",
            "parts": f"{rest}, the residual connection and {of.one}"
            if after
            else f"{of.one}, {rest} and the residual connection",
            "post": of.name if after else "",
            "pre": not after,
            "inner": inner if inner != outer else "",
            "outer": outer,
            "added": "add & norm" if after else "the residual connection",
            "both": inner if inner == outer else "",
        },
    )


def _pre_norm(kind: str, symbol: str, meaning: str) -> Callable[[ModuleView], Match | None]:
    """Return a function that matches a branch of a kind whose input is normalised."""

    def match(view: ModuleView) -> Match | None:
        found = _sole(view, kind)
        if found is None or found[2] is not None or found[1].before is None:
            return None
        child = child_of(view, found[1].last)
        part = Part(symbol, (Term(symbol, meaning.format(child)),))
        return match_path(view, found[0], [part])

    return match


def _post_norm(view: ModuleView) -> Match | None:
    """A feed-forward network with residual connection and norm (Vaswani et al. 2017, 3.1, 3.3)."""
    found = _sole(view, "feed-forward")
    part = None if found is None or found[2] is None else part_of(view, found[1])
    return None if found is None or part is None else match_path(view, found[0], [part])


_ATTENTION = "multi-head attention with its output projection"
_PRE_NORM = (
    (
        *("attention block", "attention", "Attention", '"SelfAttention"', "attention"),
        *(_ATTENTION, "heads"),
    ),
    (
        *("attention block", "cross-attention", "Attention", '"CrossAttention"', "attention"),
        *(_ATTENTION, "heads"),
    ),
    (
        *("feed-forward sub-layer", "feed-forward", "Feed-forward", '"FeedForward"'),
        "the feed-forward network",
        "the feed-forward network of the child “{}”, applied to each row",
        "feed-forward",
    ),
    (
        *("feed-forward sub-layer", "experts", "Expert", 'op("MoE")', "a mixture of experts"),
        "the mixture of experts of the child “{}”, applied to each row",
        "experts",
    ),
)
"""Role, kind, title, symbol, words, meaning and key of pre-norm sub-layers."""

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
    Template(
        "attention block",
        _block,
        "Attention block{order}",
        "The first sub-layer of a layer: {parts}.",
        (
            "Its children are the parts: “{inner}” is the attention, “{outer}” the output "
            "projection with {added}.",
            "The child “{both}” is the attention with its output projection; the norm belongs to "
            "this module.",
            RESIDUAL,
            POST_NORM,
            Note("Pre-norm: the norm is applied to the attention’s input, not to the sum.", "pre"),
        ),
        ("width", "heads", "epsilon"),
        "Vaswani et al. 2017, sections 3.1 and 3.2",
    ),
    *(
        Template(
            role,
            _pre_norm(kind, symbol, meaning),
            f"{title} sub-layer, pre-norm",
            f"Normalises its input, applies {words} and adds the result to the input (the "
            "residual connection).",
            (
                RESIDUAL,
                "Pre-norm: the norm is applied to the sub-layer’s input, not to the sum.",
                DROPOUT,
            ),
            ("width", key, "epsilon"),
            "Raffel et al. 2020, section 2.1",
        )
        for role, kind, title, symbol, words, meaning, key in _PRE_NORM
    ),
    Template(
        "feed-forward sub-layer",
        _post_norm,
        "Feed-forward sub-layer, post-norm",
        "Applies the feed-forward network, adds its input (the residual connection) and normalises "
        "the sum.",
        (RESIDUAL, ROW_WISE, POST_NORM, DROPOUT),
        ("width", "feed-forward", "activation", "epsilon", "dropout"),
        "Vaswani et al. 2017, sections 3.1 and 3.3",
    ),
)
