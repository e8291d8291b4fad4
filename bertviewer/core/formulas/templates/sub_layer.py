"""Sub-layers: attention or feed-forward network with its residual connection and norm."""

from bertviewer.core.families.names import is_cross_attention
from bertviewer.core.formulas.facts import follows_cross, has_projected_embeddings
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, Affine, sized
from bertviewer.core.formulas.notes import Note, no
from bertviewer.core.formulas.place import places
from bertviewer.core.formulas.templates.feed_forward import (
    DROPOUT,
    ROW_WISE,
    groups_key,
    half_of_network,
    read_feed_forward,
)
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import Branch, residual_path
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen

RESIDUAL = (
    "Residual connection: each sub-layer’s input is added to its output, so that it need only "
    "learn a correction. The two must have the same shape, and gradients pass through the sum "
    "unchanged."
)
ENCODER_OUTPUT = Term('X_"enc"', "the encoder’s output")
_HALVES = (
    "The module has two inputs: H comes from the first half, and R is the input of the first "
    "half, that is, "
)


def post_norm(norm: Norm) -> str:
    """Return the note on a norm after the residual connection."""
    return (
        f"Post-norm: the {norm.name} follows the addition, as in the original Transformer, so the "
        "residual path itself is normalised in every layer."
    )


@frozen
class _Addition:
    """A linear layer whose result is added to another input, and the norm of the sum, if any."""

    dense: Affine
    norm: Norm | None
    linear: Step

    def maths(self, argument: str, index: str = "") -> str:
        """Return the line that computes Y from ``argument`` and R."""
        inner = self.dense.maths(sized(argument, "S", self.dense.inputs), index)
        total = f"{inner} + {sized('R', 'S', self.dense.outputs)}"
        if self.norm is not None:
            total = f"{self.norm.operator}({total})"
        return f"{sized('Y', 'S', self.dense.outputs)} = {total}"


def _addition(view: ModuleView) -> _Addition | None:
    """Read a module with two inputs: one goes through a linear layer and is added to the other."""
    graph = view.graph
    if graph is None or len(graph.steps) not in (2, 3) or len(graph.inputs) != 2:
        return None
    linear, residual, *rest = graph.steps
    if linear.operation != "linear" or residual.operation != "residual":
        return None
    dense = view.affine_of(linear)
    skip = residual.roles.get("residual")
    if (
        dense is None
        or skip is None
        or graph.maker(skip) is not None
        or (rest and not is_norm(rest[0]))
    ):
        return None
    return _Addition(dense, Norm.of(rest[0]) if rest else None, linear)


def _add_and_norm(view: ModuleView) -> Formula | None:
    """The attention's output projection with add & norm (Vaswani et al. 2017, section 3.1)."""
    found = _addition(view)
    if found is None or found.norm is None or half_of_network(view) is not None:
        return None
    dense, norm = found.dense, found.norm
    return Formula(
        title="Output projection, add & norm",
        summary="Mixes the heads’ outputs, adds the attention’s input (the residual) and "
        "normalises the sum.",
        maths=(found.maths("Z", "O"),),
        terms=(
            TOKENS,
            Term("Z", "outputs of the heads, side by side", f"[S, {dense.inputs}]"),
            Term("R", "residual: the input of the attention", f"[S, {dense.outputs}]"),
            *dense.terms("the output projection", "O"),
            *norm.terms,
        ),
        notes=(*_residual_inputs(view), RESIDUAL, post_norm(norm), DROPOUT),
        config_keys=view.keys("width", *groups_key(dense), "epsilon", "dropout"),
        source="Vaswani et al. 2017, sections 3.1 and 3.2.2; He et al. 2016, section 3",
    )


def _residual_inputs(view: ModuleView) -> tuple[Note, ...]:
    """Say where the two inputs of an output projection come from."""
    given = (
        f"The module has two inputs: Z comes from {_attention_name(view)}, and R is the input of "
        "the attention, that is, "
    )
    return (
        Note(f"{given}the output of the layer’s self-attention block.", _is_in_cross),
        Note(
            f"{given}the output of the previous layer or of the embeddings.",
            lambda view: not _is_in_cross(view) and not has_projected_embeddings(view),
        ),
        Note(
            f"{given}the output of the previous layer or of embeddings_project.",
            lambda view: not _is_in_cross(view) and has_projected_embeddings(view),
        ),
    )


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


def _is_in_cross(view: ModuleView) -> bool:
    return is_cross_attention(view.node.path)


def _second_half(view: ModuleView) -> Formula | None:
    """Second half of the feed-forward network with add & norm (Vaswani et al. 2017, 3.1, 3.3)."""
    found, half = _addition(view), half_of_network(view)
    if found is None or found.norm is None or half is None or half[0] != "second":
        return None
    dense, norm = found.dense, found.norm
    return Formula(
        title="Feed-forward network, second half, add & norm",
        summary=f"Projects each vector back to {dense.outputs} features, adds the network’s input "
        "(the residual) and normalises the sum.",
        maths=(found.maths("H", "2"),),
        terms=(
            TOKENS,
            Term("H", "output of the first half", f"[S, {dense.inputs}]"),
            Term("R", "residual: the input of the first half", f"[S, {dense.outputs}]"),
            *dense.terms("the second linear layer", "2"),
            *norm.terms,
        ),
        notes=(
            Note(f"{_HALVES}the output of the attention block.", no(follows_cross)),
            Note(f"{_HALVES}the output of the cross-attention block.", follows_cross),
            RESIDUAL,
            ROW_WISE,
            post_norm(norm),
            DROPOUT,
        ),
        config_keys=view.keys("width", "feed-forward", *groups_key(dense), "epsilon", "dropout"),
        source="Vaswani et al. 2017, sections 3.1 and 3.3",
    )


def _bare_add_and_norm(view: ModuleView) -> Formula | None:
    """The sum of two inputs and its norm (Vaswani et al. 2017, section 3.1)."""
    graph = view.graph
    if graph is None or len(graph.inputs) != 2:
        return None
    if [step.operation for step in graph.steps][:1] != ["residual"] or len(graph.steps) != 2:
        return None
    if not is_norm(graph.steps[1]):
        return None
    norm, width = Norm.of(graph.steps[1]), view.width_of(graph.steps[0])
    return Formula(
        title="Add & norm",
        summary="Adds the sub-layer’s input (the residual) to its output and normalises the sum.",
        maths=(f"{sized('Y', 'S', width)} = {norm.operator}(Z + R)",),
        terms=(
            TOKENS,
            Term("Z", "output of the sub-layer", f"[S, {width}]"),
            Term("R", "residual: the input of the sub-layer", f"[S, {width}]"),
            *norm.terms,
        ),
        notes=(RESIDUAL, post_norm(norm)),
        config_keys=view.keys("width", "epsilon"),
        source="Vaswani et al. 2017, section 3.1; He et al. 2016, section 3",
    )


def _projection_and_residual(view: ModuleView) -> Formula | None:
    """A linear layer and the residual of a pre-norm sub-layer (Radford et al. 2019, 2.3)."""
    found = _addition(view)
    if found is None or found.norm is not None:
        return None
    dense = found.dense
    return Formula(
        title="Projection and residual",
        summary=f"Projects each vector to {dense.outputs} features and adds the sub-layer’s input "
        "(the residual).",
        maths=(found.maths("Z"),),
        terms=(
            TOKENS,
            Term("Z", "output of the preceding part", f"[S, {dense.inputs}]"),
            Term("R", "residual: the input of the sub-layer, not normalised"),
            *dense.terms("the projection"),
        ),
        notes=(RESIDUAL, DROPOUT),
        config_keys=view.keys("width", "dropout"),
        source="He et al. 2016, section 3; Radford et al. 2019, section 2.3",
    )


def _sole_branch(view: ModuleView) -> tuple[Branch, Norm | None] | None:
    """Return the branch of a module with one residual connection, and the norm of its sum."""
    path = None if view.graph is None else residual_path(view.graph)
    if path is None or path.entry is not None or len(path.branches) != 1:
        return None
    return path.branches[0], path.sub_layers[0].after


def _attention_block(view: ModuleView) -> Formula | None:
    """Attention in a child, its projection, the residual and a norm (Vaswani et al. 2017, 3.1)."""
    found = _sole_branch(view)
    if found is None or "attention" not in found[0].kind:
        return None
    branch, after = found
    attention = next(step for step in branch.core if step.operation == "attention")
    norm = after or branch.before
    if attention.node.path == view.node.path or norm is None or branch.inside is not None:
        return None
    dense = view.affine_of(branch.last) if branch.last.operation == "linear" else None
    if dense is None or not _is_direct(view, branch):
        return _pre_norm(view, branch) if after is None else None
    is_cross = branch.kind == "cross-attention"
    name = "CrossAttention" if is_cross else "SelfAttention"
    argument = "X" if after is not None else f"{norm.operator}(X)"
    inner = f'"{name}"({argument}{ENCODER_OUTPUT.symbol.join((", ", "")) if is_cross else ""})'
    projected = dense.maths(sized("Z", "S", dense.inputs), "O")
    total = f"{projected} + {sized('X', 'S', dense.outputs)}"
    if after is not None:
        total = f"{norm.operator}({total})"
    return Formula(
        title="Attention block" if after is not None else "Attention block, pre-norm",
        summary="The first sub-layer of a layer: "
        + (
            f"attention, its output projection, the residual connection and {norm.one}."
            if after is not None
            else f"{norm.one}, attention, its output projection and the residual connection."
        ),
        maths=(
            f"{sized('Z', 'S', dense.inputs)} = {inner}",
            f"{sized('Y', 'S', dense.outputs)} = {total}",
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {dense.outputs}]"),
            *((ENCODER_OUTPUT,) if is_cross else ()),
            Term("Z", "outputs of the heads, side by side", f"[S, {dense.inputs}]"),
            *dense.terms("the output projection", "O"),
            *norm.terms,
        ),
        notes=(
            *_parts_note(view, attention, branch.last, is_post=after is not None),
            RESIDUAL,
            post_norm(norm)
            if after is not None
            else "Pre-norm: the norm is applied to the attention’s input, not to the sum.",
        ),
        config_keys=view.keys("width", "heads", "epsilon"),
        source="Vaswani et al. 2017, sections 3.1 and 3.2",
    )


def _is_direct(view: ModuleView, branch: Branch) -> bool:
    """Return whether a block adds the projection itself, and does not leave all to one child."""
    names = {_child_name(view, step) for step in branch.core}
    return len(names) > 1 or branch.before is None


def _child_name(view: ModuleView, step: Step) -> str:
    start = f"{view.node.path}." if view.node.path else ""
    return (step.node.path or "").removeprefix(start).partition(".")[0]


def _parts_note(view: ModuleView, attention: Step, last: Step, *, is_post: bool) -> tuple[str, ...]:
    inner, outer = _child_name(view, attention), _child_name(view, last)
    if inner != outer:
        return (
            f"Its children are the parts: “{inner}” is the attention, “{outer}” the output "
            f"projection with {'add & norm' if is_post else 'the residual connection'}.",
        )
    return (
        f"The child “{inner}” is the attention with its output projection; the norm belongs to "
        "this module.",
    )


@frozen
class _Part:
    """How a pre-norm sub-layer's core is called."""

    title: str
    symbol: str
    applied: str
    meaning: str
    key: str


_ATTENTION = "multi-head attention with its output projection"
_PRE_NORM_PARTS = {
    "attention": _Part("Attention", '"SelfAttention"', "attention", _ATTENTION, "heads"),
    "cross-attention": _Part("Attention", '"CrossAttention"', "attention", _ATTENTION, "heads"),
    "feed-forward": _Part(
        "Feed-forward",
        '"FeedForward"',
        "the feed-forward network",
        "the feed-forward network of the child “{}”, applied to each row",
        "feed-forward",
    ),
    "experts": _Part(
        "Expert",
        'op("MoE")',
        "a mixture of experts",
        "the mixture of experts of the child “{}”, applied to each row",
        "experts",
    ),
}


def _pre_norm(view: ModuleView, branch: Branch) -> Formula | None:
    """A sub-layer whose norm is applied to its input (Raffel et al. 2020, section 2.1)."""
    norm = branch.before
    if norm is None or branch.inside is not None:
        return None
    width = view.width_of(branch.last)
    is_cross = branch.kind == "cross-attention"
    known = _PRE_NORM_PARTS.get(branch.kind, _PRE_NORM_PARTS["attention"])
    inner = f"{norm.operator}(X)" + (f", {ENCODER_OUTPUT.symbol}" if is_cross else "")
    what = known.meaning.format(_child_name(view, branch.last))
    return Formula(
        title=f"{known.title} sub-layer, pre-norm",
        summary=f"Normalises its input, applies {known.applied} and adds the result to the input "
        "(the residual connection).",
        maths=(f"{sized('Y', 'S', width)} = {sized('X', 'S', width)} + {known.symbol}({inner})",),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {width}]"),
            *((ENCODER_OUTPUT,) if is_cross else ()),
            Term(known.symbol, what),
            *norm.terms,
        ),
        notes=(
            RESIDUAL,
            "Pre-norm: the norm is applied to the sub-layer’s input, not to the sum.",
            DROPOUT,
        ),
        config_keys=view.keys("width", known.key, "epsilon"),
        source="Raffel et al. 2020, section 2.1",
    )


def _feed_forward_sub_layer(view: ModuleView) -> Formula | None:
    """A feed-forward network with its norm and residual connection in one module."""
    found = _sole_branch(view)
    if found is None or found[0].kind not in ("feed-forward", "experts"):
        return None
    branch, after = found
    if after is None:
        return _pre_norm(view, branch)
    if branch.kind == "experts":
        return None
    network = read_feed_forward(branch.last, view)
    if network is None:
        return None
    width = network.second.outputs
    return Formula(
        title="Feed-forward sub-layer, post-norm",
        summary="Applies the feed-forward network, adds its input (the residual connection) and "
        "normalises the sum.",
        maths=(
            f'{sized("Y", "S", width)} = {after.operator}({sized("X", "S", width)} + op("FFN")(X))',
            f'op("FFN")(x) = {network.maths("x")}',
        ),
        terms=(
            TOKENS,
            Term("X", "input, one row per position", f"[S, {width}]"),
            *network.terms("the feed-forward network’s"),
            *after.terms,
        ),
        notes=(RESIDUAL, ROW_WISE, post_norm(after), DROPOUT),
        config_keys=view.keys("width", "feed-forward", "activation", "epsilon", "dropout"),
        source="Vaswani et al. 2017, sections 3.1 and 3.3",
    )


SUB_LAYERS = (
    Template("add & norm", _add_and_norm),
    Template("add & norm", _bare_add_and_norm),
    Template("feed-forward, second half", _second_half),
    Template("add", _projection_and_residual),
    Template("attention block", _attention_block),
    Template("feed-forward sub-layer", _feed_forward_sub_layer),
)
