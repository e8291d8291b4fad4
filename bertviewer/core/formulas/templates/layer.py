"""Layers and sub-layers: what residual connections add, one after the other or in parallel."""

from collections.abc import Callable, Sequence

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, Affine, quoted, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.templates.feed_forward import DROPOUT, ROW_WISE, read_feed_forward
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

_ENCODER_OUTPUT = Term('X_"enc"', "the encoder’s output")
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
_SYMBOLS = {
    "attention": '"Attention"',
    "cross-attention": '"CrossAttention"',
    "feed-forward": 'op("FFN"{})',
    "experts": 'op("MoE")',
}
_MEANINGS = {
    "attention": "multi-head self-attention, with its output projection",
    "cross-attention": "attention to the encoder’s output",
    "feed-forward": "a feed-forward network, applied to each row",
    "experts": "mixture of experts{}",
}
_WORDS = {
    "attention": "self-attention",
    "cross-attention": "cross-attention",
    "feed-forward": "a feed-forward network",
    "experts": "a mixture of experts",
}
_PRE_NORM_SOURCE = "; pre-norm: Radford et al. 2019, section 2.3, and Xiong et al. 2020"
_ROW_WISE = {"feed-forward": "feed-forward network processes", "experts": "experts process"}
_SUB_LAYERS = {
    "attention": "Attention sub-layer",
    "cross-attention": "Attention sub-layer",
    "feed-forward": "Feed-forward sub-layer",
    "experts": "Expert sub-layer",
}
"""How branches are called in a formula, in a legend, in a summary, in a note and in a title."""


@frozen
class Part:
    """What a residual path adds, or a step before that, in a formula.

    Attributes:
        symbol: the function that it is.
        terms: what explains it.
        words: it as part of a sentence.
        definition: the line that defines the function, "" for none.
        output: the linear layer that the function's result goes through.
    """

    symbol: str
    terms: tuple[Term, ...] = ()
    words: str = ""
    definition: str = ""
    output: Affine | None = None


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
        block = _projected(view, branch) if len(path.branches) == 1 else None
        parts.append(block or _part(view, branch, index))
    return [] if None in parts else [part for part in parts if part is not None]


def _part(view: ModuleView, branch: Branch, index: str) -> Part | None:
    """Return how a branch is written, ``None`` if it is neither a child nor a known pattern.

    A network with an index is one of several and not written out.
    """
    children = [child_of(view, step) for step in branch.core]
    if branch.kind not in _SYMBOLS:
        is_child = len({*children}) == 1 and children[0]
        return _child(children[0], view.children[children[0]].class_name) if is_child else None
    symbol, words, some = _SYMBOLS[branch.kind].format(index), _WORDS[branch.kind], ""
    for details in (step.node.details for step in branch.core if step.operation == "experts"):
        count, chosen = details.get("experts"), details.get("chosen")
        some = f", {chosen} of {count} for each position" if chosen else f" of {count}"
    is_written = branch.kind == "feed-forward" and not index
    network = read_feed_forward(branch.last, view) if is_written else None
    if network is None:
        terms = (Term(symbol, _MEANINGS[branch.kind].format(some)),)
        return Part(symbol, (*_encoder(branch), *terms), words)
    terms = network.terms("the feed-forward network’s")
    return Part(symbol, terms, words, f"{symbol}(x) = {network.maths('x')}")


def _child(name: str, class_name: str | None) -> Part:
    symbol, about = quoted(name), f"the child “{name}” ({class_name}), explained on its own page"
    return Part(symbol, (Term(symbol, about),), f"“{name}”")


def _projected(view: ModuleView, branch: Branch) -> Part | None:
    """Return an attention whose output projection is not in the same child, with the weights."""
    dense = view.affine_of(branch.last) if branch.last.operation == "linear" else None
    is_direct = branch.before is None or len({child_of(view, step) for step in branch.core}) > 1
    if dense is None or not is_direct or "attention" not in branch.kind:
        return None
    symbol = '"CrossAttention"' if branch.kind == "cross-attention" else '"SelfAttention"'
    heads = Term("Z", "outputs of the heads, side by side", f"[S, {dense.inputs}]")
    terms = dense.terms("the output projection", "O")
    return Part(symbol, (*_encoder(branch), heads, *terms), _WORDS[branch.kind], output=dense)


def normed(norm: Step | None, maths: str) -> str:
    """Return a norm of an expression, the expression itself if there is no norm."""
    return maths if norm is None else f"{Norm.of(norm).operator}({maths})"


def _lines(path: ResidualPath, parts: Sequence[Part], width: int) -> list[str]:
    """Return the lines of a residual path; its entry and each branch have a part."""
    lines, waiting, argument = [], iter(parts), "X"
    # The sum of a single connection shows the size of its input.
    start = sized("X", "S", width) if len(parts) == 1 else "X"
    if path.entry is not None:
        argument = start = "X'"
        lines.append(f"{sized(argument, 'S', width)} = {next(waiting).symbol}(X)")
    for number, each in enumerate(path.sub_layers):
        is_last = number == len(path.sub_layers) - 1
        result, read = "Y" if is_last else "Z" + "'" * number, argument
        shared = each.shared_norm
        if shared is not None:
            read = "N"
            lines.append(f"{sized(read, 'S', width)} = {normed(shared, argument)}")
        total = [start]
        for branch, part in zip(each.branches, waiting, strict=False):
            inner = read if shared is not None else normed(branch.before, read)
            more = f", {_ENCODER_OUTPUT.symbol}" if branch.kind == "cross-attention" else ""
            added = f"{part.symbol}({inner}{more})"
            if part.output is not None:
                heads = sized("Z", "S", part.output.inputs)
                lines.append(f"{heads} = {added}")
                added = part.output.maths(heads, "O")
            added = normed(branch.inside, added)
            added = f"{branch.scale} {added}" if branch.scale else added
            total.insert(0 if part.output else len(total), added)
        lines.append(f"{sized(result, 'S', width)} = {normed(each.after, ' + '.join(total))}")
        argument = start = result
    return lines + [part.definition for part in parts if part.definition]


def _terms(path: ResidualPath, parts: Sequence[Part], width: int) -> tuple[Term, ...]:
    terms = [TOKENS, Term("X", "input, one row per position", f"[S, {width}]")]
    if any(each.shared_norm for each in path.sub_layers):
        terms.append(Term("N", "the normalised input, which all parallel sub-layers read"))
    terms += [term for part in parts for term in part.terms]
    if any(branch.scale == LEARNT_SCALE for branch in path.branches):
        terms.append(Term("lambda", "learnt scale of each feature (layer scale)", f"[{width}]"))
        terms.append(Term("dot.o", "element-wise product"))
    terms += [term for norm in path.norms for term in Norm.of(norm).terms]
    first = {term.symbol: term for term in reversed(terms)}
    return tuple(dict.fromkeys(first[term.symbol] for term in terms))


def _encoder(branch: Branch) -> tuple[Term, ...]:
    return (_ENCODER_OUTPUT,) if branch.kind == "cross-attention" else ()


def _case(case: str) -> Callable[[ModuleView], Match | None]:
    """Return a function that matches residual paths of a case: see ``LAYER``."""

    def match(view: ModuleView) -> Match | None:
        path = residual_path(view)
        parts = [] if path is None else _parts(view, path)
        if path is None or not parts or case != _case_of(view, path, parts):
            return None
        width = view.width_of(path.branches[-1].last)
        return Match(
            tuple(_lines(path, parts, width)),
            _terms(path, parts, width),
            {"width": width, **_values(view, path, parts)},
        )

    return match


def _case_of(view: ModuleView, path: ResidualPath, parts: Sequence[Part]) -> str:
    """Return which entry of ``LAYER`` a residual path is."""
    kind = path.branches[0].kind
    if sum(bool(part.words) for part in parts) > 1 or kind == "other":
        return "layer" if view.node.name.isdecimal() else "sub-layer"
    if path.entry is not None or "attention" not in kind:
        return "" if path.entry else "feed-forward"
    steps = [step for step in path.branches[0].core if step.operation == "attention"]
    is_own = steps[0].node.path == view.node.path
    is_block = path.order == "post" and parts[0].output
    return "" if is_own else "block" if is_block else "attention"


def _values(view: ModuleView, path: ResidualPath, parts: Sequence[Part]) -> dict[str, object]:
    """Return what the texts of a residual path are filled with."""
    kinds = [branch.kind for branch in path.branches]
    *words, last_words = [part.words for part in parts if part.words]
    norms = [Norm.of(norm) for norm in path.norms]
    is_cross, mixes = "cross-attention" in kinds, any("attention" in kind for kind in kinds)
    title = "Layer" if view.node.name.isdecimal() else "Sub-layer"
    if words and mixes:
        title = "Decoder layer" if is_cross else "Transformer layer"
    elif not words:
        title = _SUB_LAYERS.get(kinds[0], title)
    norm = norms[0].one if norms else ""
    is_sub_layer = title.endswith("ub-layer")
    placement, order, where = _ORDERS[path.order]
    is_parallel = any(len(each.branches) > 1 for each in path.sub_layers)
    return {
        "kind": title,
        "placement": placement,
        "added": "add & norm" if path.order == "post" else "the residual connection",
        "parallel": ", parallel" if is_parallel else "",
        "one": "One sub-layer" if is_sub_layer else "One layer of the stack",
        "listed": f"{', '.join(words)} and {last_words}" if words else last_words,
        "order": order.format(norm).removeprefix("each " if len(kinds) == 1 else ""),
        "where": where,
        "norm": norm,
        "post": norms[0].name if path.order == "post" else "",
        "row_wise": next((text for kind, text in _ROW_WISE.items() if mixes and kind in kinds), ""),
        "alone": not words and kinds == ["feed-forward"],
        "stacks": bool(words) or kinds == ["other"],
        "optional": is_cross and view.node.class_module.startswith("transformers."),
        "unused": ", ".join(f"“{name}”" for name in _unused_children(view)),
        "pre_source": _PRE_NORM_SOURCE if placement == "pre-norm" else "",
        "parallel_source": "; parallel: Wang & Komatsuzaki 2021" if is_parallel else "",
        **(_children(view, path.branches[0]) if parts[0].output else {}),
    }


def _children(view: ModuleView, block: Branch) -> dict[str, object]:
    """Return the children of a block that hold its attention and its output projection."""
    attention = next(step for step in block.core if step.operation == "attention")
    inner, outer = child_of(view, attention), child_of(view, block.last)
    return {"both": inner} if inner == outer else {"inner": inner, "outer": outer}


def _unused_children(view: ModuleView) -> list[str]:
    """Return the children with parameters that the traced forward pass does not call."""
    flows = view.architecture.flows
    called = set() if flows is None else {*flows.distinct, *flows.like}
    return [
        name
        for name, child in view.children.items()
        if child.parameters and not any(f"{path}.".startswith(f"{child.path}.") for path in called)
    ]


_TITLE, _SUMMARY = "{kind}, {placement}{parallel}", "{one}: {listed}, {order}."
_NOTES = (
    "Its children are the parts: “{inner}” is the attention, “{outer}” the output projection with "
    "{added}.",
    "The child “{both}” is the attention with its output projection; the norm belongs to this "
    "module.",
    RESIDUAL,
    Note(ROW_WISE, "alone"),
    POST_NORM,
    "{where}",
    Note(
        "Parallel sub-layers: attention and feed-forward network read the same input, and both are "
        "added to it in one step. The two can be computed at the same time.",
        "parallel",
    ),
    "Attention moves information between positions; the {row_wise} each position independently.",
    Note("Input and output have the same shape, [S, {width}], so layers can be stacked.", "stacks"),
    Note("Cross-attention runs only when encoder hidden states are given.", "optional"),
    "Not used in this forward pass: {unused}.",
    DROPOUT,
)
_KEYS = ("width", "heads", "feed-forward", "activation", "norm first")
_CASES = {
    "block": (
        "attention block",
        "Attention block",
        "The first sub-layer of a layer: attention, its output projection, the residual connection "
        "and {norm}.",
        ("width", "heads", "epsilon"),
    ),
    "attention": ("attention block", _TITLE, _SUMMARY, ("width", "heads", "epsilon")),
    "feed-forward": (
        "feed-forward sub-layer",
        _TITLE,
        _SUMMARY,
        ("width", "feed-forward", "experts", "activation", "epsilon", "dropout"),
    ),
    "layer": ("layer", _TITLE, _SUMMARY, _KEYS),
    "sub-layer": ("sub-layer", _TITLE, _SUMMARY, _KEYS),
}
LAYER = tuple(
    Template(
        role,
        _case(case),
        title,
        summary,
        _NOTES,
        keys,
        "Vaswani et al. 2017, section 3.1{pre_source}{parallel_source}",
    )
    for case, (role, title, summary, keys) in _CASES.items()
)
