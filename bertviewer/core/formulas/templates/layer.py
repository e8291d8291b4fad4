"""Layers: sub-layers with residual connections, one after the other or in parallel."""

from collections.abc import Sequence

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, quoted, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.templates.feed_forward import DROPOUT, read_feed_forward
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import (
    LEARNT_SCALE,
    Branch,
    ResidualPath,
    child_of,
    residual_path,
)
from bertviewer.core.formulas.templates.template import Match, Template
from bertviewer.core.frozen import frozen

RESIDUAL = (
    "Residual connection: each sub-layer’s input is added to its output, so that it need only "
    "learn a correction. The two must have the same shape, and gradients pass through the sum "
    "unchanged."
)
POST_NORM = (
    "Post-norm: the {post} follows the addition, as in the original Transformer, so the residual "
    "path itself is normalised in every layer."
)
ENCODER_OUTPUT = Term('X_"enc"', "the encoder’s output")

_PRE = ("pre-norm", "each preceded by {} and followed by a residual connection")
_ORDERS = {
    "post": ("post-norm", "each followed by a residual connection and {}", ""),
    "pre": (
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
    "sandwich": (
        "norms before and after",
        "each preceded and followed by {} inside its residual connection",
        "Each sub-layer normalises both its input and its output; the residual path itself is not "
        "normalised.",
    ),
    "output": (
        "output norm",
        "each followed by {} inside its residual connection",
        "Each sub-layer normalises its output before it is added; the residual path itself is not "
        "normalised.",
    ),
    "none": ("without norms", "each followed by a residual connection", ""),
    "mixed": ("mixed norms", "each with a residual connection", ""),
}
"""What a layer is called by the order of its norms, the order in words, and a note."""
_BRANCHES = {
    "attention": (
        '"Attention"',
        "multi-head self-attention, with its output projection",
        "self-attention",
    ),
    "cross-attention": (
        '"CrossAttention"',
        "attention to the encoder’s output",
        "cross-attention",
    ),
    "feed-forward": (
        'op("FFN"{})',
        "a feed-forward network, applied to each row",
        "a feed-forward network",
    ),
    "experts": ('op("MoE")', "mixture of experts{}", "a mixture of experts"),
}
"""Symbol, meaning and words by the kind of a branch."""
_PRE_NORM_SOURCE = "; pre-norm: Radford et al. 2019, section 2.3, and Xiong et al. 2020"
_ROW_WISE = {"feed-forward": "feed-forward network processes", "experts": "experts process"}


@frozen
class Part:
    """A step of a residual path in a formula.

    Attributes:
        symbol: the function that it is.
        terms: what explains it.
        words: it as part of a sentence.
        definition: the line that defines the function, "" for none.
    """

    symbol: str
    terms: tuple[Term, ...] = ()
    words: str = ""
    definition: str = ""


def part_of(view: ModuleView, branch: Branch, index: str = "") -> Part | None:
    """Return how a branch is written, ``None`` if it is neither a child nor a known pattern.

    A network with an index is one of several and not written out.
    """
    if branch.kind not in _BRANCHES:
        name, *more = {child_of(view, step) for step in branch.core} or ("",)
        return None if more or not name else _child(name, view.children[name].class_name)
    symbol, meaning, words = _BRANCHES[branch.kind]
    symbol, chosen = symbol.format(index), ""
    for step in branch.core:
        if step.operation == "experts":
            count, some = (step.node.details.get(key) for key in ("experts", "chosen"))
            chosen = f", {some} of {count} for each position" if some else f" of {count}"
    is_written = branch.kind == "feed-forward" and not index
    network = read_feed_forward(branch.last, view) if is_written else None
    if network is None:
        return Part(symbol, (Term(symbol, meaning.format(chosen)),), words)
    terms = network.terms("the feed-forward network’s")
    return Part(symbol, terms, words, f"{symbol}(x) = {network.maths('x')}")


def _child(name: str, class_name: str | None) -> Part:
    symbol, about = quoted(name), f"the child “{name}” ({class_name}), explained on its own page"
    return Part(symbol, (Term(symbol, about),), f"“{name}”")


def normed(norm: Step | None, maths: str) -> str:
    """Return a norm of an expression, the expression itself if there is no norm."""
    return maths if norm is None else f"{Norm.of(norm).operator}({maths})"


def called(branch: Branch, symbol: str, argument: str) -> str:
    """Return the function ``symbol`` of what a branch reads."""
    more = f", {ENCODER_OUTPUT.symbol}" if branch.kind == "cross-attention" else ""
    return f"{symbol}({argument}{more})"


def match_path(
    view: ModuleView, path: ResidualPath, parts: Sequence[Part], **values: object
) -> Match:
    """Return the lines and terms of a residual path; its entry and each branch have a part."""
    width = view.width_of(path.branches[-1].last)
    terms = [TOKENS, Term("X", "input, one row per position", f"[S, {width}]")]
    lines, waiting, argument = [], iter(parts), "X"
    # The sum of a single connection shows the size of its input.
    start = sized("X", "S", width) if len(parts) == 1 else "X"
    if path.entry is not None:
        entry, argument, start = next(waiting), "X'", "X'"
        lines.append(f"{sized(argument, 'S', width)} = {entry.symbol}(X)")
        terms += entry.terms
    for number, each in enumerate(path.sub_layers):
        is_last = number == len(path.sub_layers) - 1
        result, read = "Y" if is_last else "Z" + "'" * number, argument
        shared = each.shared_norm
        if shared is not None:
            read = "N"
            lines.append(f"{sized(read, 'S', width)} = {normed(shared, argument)}")
            terms.append(Term(read, "the normalised input, which all parallel sub-layers read"))
        total = [start]
        for branch in each.branches:
            part = next(waiting)
            inner = read if shared is not None else normed(branch.before, read)
            added = normed(branch.inside, called(branch, part.symbol, inner))
            total.append(f"{branch.scale} {added}" if branch.scale else added)
            terms += [ENCODER_OUTPUT] if branch.kind == "cross-attention" else []
            terms += part.terms
        lines.append(f"{sized(result, 'S', width)} = {normed(each.after, ' + '.join(total))}")
        argument = start = result
    lines += [part.definition for part in parts if part.definition]
    if any(branch.scale == LEARNT_SCALE for branch in path.branches):
        terms.append(Term("lambda", "learnt scale of each feature (layer scale)", f"[{width}]"))
        terms.append(Term("dot.o", "element-wise product"))
    norms = [Norm.of(norm) for norm in path.norms]
    unique: dict[str, Term] = {}
    for term in (*terms, *(term for norm in norms for term in norm.terms)):
        unique.setdefault(term.symbol, term)
    after = norms[0].name if path.order == "post" else ""
    values = {path.order: True, "post": after, "width": width, **values}
    return Match(tuple(lines), tuple(unique.values()), values)


def _parts(view: ModuleView, path: ResidualPath) -> list[Part]:
    """Return how a layer's entry and branches are written, nothing if it is no layer."""
    parts: list[Part | None] = []
    if is_norm(path.entry):
        parts.append(Part(Norm.of(path.entry).operator))
    elif path.entry is not None:
        parts.append(_child(path.entry.node.name, path.entry.node.class_name))
    networks = [branch for branch in path.branches if branch.kind == "feed-forward"]
    for branch in path.branches:
        is_one_of_many = branch in networks and len(networks) > 1
        index = f"_{networks.index(branch) + 1}" if is_one_of_many else ""
        parts.append(part_of(view, branch, index))
    found = [part for part in parts if part is not None]
    is_layer = path.branches[0].kind == "other" or sum(bool(part.words) for part in found) > 1
    return found if is_layer and len(found) == len(parts) else []


def _layer(view: ModuleView) -> Match | None:
    """A layer (Vaswani et al. 2017, section 3.1; pre-norm: Radford et al. 2019, section 2.3)."""
    path = None if view.graph is None else residual_path(view.graph)
    parts = [] if path is None else _parts(view, path)
    if path is None or not parts:
        return None
    kinds = {branch.kind for branch in path.branches}
    is_cross, has_attention = "cross-attention" in kinds, "attention" in kinds
    mixes = is_cross or has_attention
    kind = "Layer" if view.node.name.isdecimal() or mixes else "Sub-layer"
    *words, last = [part.words for part in parts if part.words]
    placement, order, where = _ORDERS[path.order]
    is_parallel = any(len(each.branches) > 1 for each in path.sub_layers)
    if len(path.branches) == 1:
        order = order.removeprefix("each ")
    return match_path(
        view,
        path,
        parts,
        kind=f"{'Decoder' if is_cross else 'Transformer'} layer" if mixes else kind,
        placement=placement,
        one="One sub-layer" if kind == "Sub-layer" else "One layer of the stack",
        listed=f"{', '.join(words)} and {last}" if words else last,
        order=order.format(Norm.of(path.norms[0]).one if path.norms else ""),
        where=where,
        parallel=", parallel" if is_parallel else "",
        parallel_source="; parallel: Wang & Komatsuzaki 2021" if is_parallel else "",
        pre_norm=_PRE_NORM_SOURCE if placement == "pre-norm" else "",
        row_wise=next((words for k, words in _ROW_WISE.items() if mixes and k in kinds), ""),
        optional=is_cross and view.node.class_module.startswith("transformers."),
        unused=", ".join(_unused_children(view)),
    )


def _unused_children(view: ModuleView) -> list[str]:
    """Return the children with parameters that the traced forward pass does not call."""
    flows = view.architecture.flows
    called = set() if flows is None else {*flows.distinct, *flows.like}
    return [
        f"“{name}”"
        for name, child in view.children.items()
        if child.parameters and not any(f"{path}.".startswith(f"{child.path}.") for path in called)
    ]


def _of_list(view: ModuleView) -> Match | None:
    return _layer(view) if view.node.name.isdecimal() else None


LAYER = tuple(
    Template(
        role,
        match,
        "{kind}, {placement}{parallel}",
        "{one}: {listed}, {order}.",
        (
            RESIDUAL,
            POST_NORM,
            "{where}",
            Note(
                "Parallel sub-layers: attention and feed-forward network read the same input, and "
                "both are added to it in one step. The two can be computed at the same time.",
                "parallel",
            ),
            "Attention moves information between positions; the {row_wise} each position "
            "independently.",
            "Input and output have the same shape, [S, {width}], so layers can be stacked.",
            Note("Cross-attention runs only when encoder hidden states are given.", "optional"),
            "Not used in this forward pass: {unused}.",
            DROPOUT,
        ),
        ("width", "heads", "feed-forward", "activation", "norm first"),
        "Vaswani et al. 2017, section 3.1{pre_norm}{parallel_source}",
    )
    for role, match in (("layer", _of_list), ("sub-layer", _layer))
)
