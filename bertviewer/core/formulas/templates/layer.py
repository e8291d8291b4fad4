"""Layers, sub-layers and parts of them: modules with residual connections."""

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.core.formulas.formula import quoted
from bertviewer.core.formulas.module_view import ModuleView, dropout_of, has_module, rotates
from bertviewer.core.formulas.norm import Norm, is_norm
from bertviewer.core.formulas.steps.graph_analysis import uses_of
from bertviewer.core.formulas.steps.lines import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.formulas.templates import feed_forward
from bertviewer.core.formulas.templates.residual import (
    Branch,
    ResidualPath,
    child_of,
    residual_path,
)
from bertviewer.core.formulas.templates.stack import uncalled
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Operand
from bertviewer.core.sources.families import is_cross_attention
from bertviewer.core.util.text import joined

_BRANCHES = {
    "attention": ('"Attention"', "self-attention", "multi-head {}, with its output projection"),
    "cross-attention": ('"CrossAttention"', "cross-attention", "attention to the encoder’s output"),
    "feed-forward": ('op("FFN")', "a feed-forward network", "{}, applied to each row"),
    "experts": ('op("MoE")', "a mixture of experts", "{}{}"),
}
"""Names of branches in lines, sentences and terms."""

_HEADS = "outputs of the heads, side by side"
_INPUTS = {
    "sum": ('Y_"sub"', "output of the sub-layer", "sub-layer", "", ""),
    "output": ("O", _HEADS, "attention", "output projection", "O"),
    "second half": (
        *("H", "inner features: the output of the first half", "first half"),
        *("feed-forward network’s second linear layer", "2"),
    ),
}
"""By case: symbol and meaning of an added input, whose input X is, its projection and index."""

_ENCODER = 'X_"enc"'
_MEANINGS = {
    "X": "input, one row per position",
    _ENCODER: "the encoder’s output",
    "N": "the normalised input, which all parallel sub-layers read",
    "Y": "output, one row per position",
}


class _Text(Struct, frozen=True):
    """The text of a residual path, collected by branch.

    Attributes:
        naming: names for the formula.
        words: the entry and the branches as parts of a sentence.
        calls: the steps that are written as calls, by node.
    """

    naming: Naming
    words: list[str] = field(default_factory=list)
    calls: dict[str, Step] = field(default_factory=dict)

    def call(self, step: Step, symbol: str, meaning: str, *reads: str) -> None:
        """Write a step as a function of other nodes' results."""
        node = replace(step.node, kind="module", operation="call", nodes=None, details={})
        self.calls[node.id] = Step(node, tuple(map(Operand, reads)), {})
        self.naming.functions[node.id], self.naming.meanings[symbol] = symbol, meaning

    def child(self, view: ModuleView, step: Step, reads: str) -> bool:
        """Write a child as a call; return false for steps of other modules."""
        child = view.children.get(child_of(view, step))
        if child is not None:
            about = f"the child “{child.name}” ({child.class_name}), which has its own formula"
            self.call(step, quoted(child.name), about, reads)
            self.words.append(f"“{child.name}”")
        return child is not None


def _layer(view: ModuleView) -> Match | None:
    """Return the formula of a residual path, ``None`` if a part of it is unknown."""
    graph, path = view.graph, residual_path(view)
    if path is None:
        return None
    naming = Naming(
        ("Y",), {(path.start, ()): "X", (_ENCODER, ()): _ENCODER}, meanings=dict(_MEANINGS)
    )
    text, states, case = _Text(naming), dict[str, str](), ""
    if (entry := path.entry) is not None:
        naming.symbols[entry.node.id, ()] = "X'"
        if not is_norm(entry) and not text.child(view, entry, path.start):
            return None
    _name_scales(text, view, graph, path)
    for branch in path.branches:
        added = _add_branch(text, view, graph, path, branch)
        if added is None:
            return None
        case = added
        if text.words:
            states[(branch.after or branch.sum).node.id] = f"hidden state after {text.words[-1]}"
    for number, (node, meaning) in enumerate([*states.items()][:-1], 1 + bool(path.entry)):
        symbol = "X" + "'" * number
        naming.symbols[node, ()], naming.meanings[symbol] = symbol, meaning
    steps = tuple(text.calls.get(step.node.id, step) for step in graph.steps)
    written = write(replace(graph, steps=steps), view, naming)
    return replace(written, values=_values(view, path, text.words, case), case=case)


def _name_scales(text: _Text, view: ModuleView, graph: ModuleGraph, path: ResidualPath) -> None:
    """Name the scales of branches; those in a child are written as products."""
    scales = [branch.scale for branch in path.branches if branch.scale is not None]
    parameters = [node.id for node in graph.given.values() if node.kind == "parameter"]
    learnt = [(s, o) for s in scales for o in s.operands if o.parameter or o.node in parameters]
    for number, (scale, operand) in enumerate(learnt, 1):
        symbol = f"lambda_{number}" if len(learnt) > 1 else "lambda"
        width = view.width_of(scale)
        text.naming.meanings[symbol] = f"learnt scale of each of the {width} features (layer scale)"
        text.naming.symbols[operand.node or symbol, ()] = symbol
        if operand.parameter:
            operands = (Operand(symbol) if each is operand else each for each in scale.operands)
            node = replace(scale.node, kind="operation")
            text.calls[node.id] = replace(scale, node=node, operands=tuple(operands))


def _add_branch(
    text: _Text, view: ModuleView, graph: ModuleGraph, path: ResidualPath, branch: Branch
) -> str | None:
    """Add a branch to the text; return the case of a sole one, "" for others, or ``None``."""
    naming, is_sole = text.naming, len(path.branches) == 1 and path.entry is None
    if branch.kind == "input":
        half = feed_forward.half_of_network(view)
        case = "sum" if not branch.core else "second half" if half == "second" else "output"
        symbol, meaning, residual, use, index = _INPUTS[case]
        naming.symbols.update({(path.start, ()): "X", (branch.reads, ()): symbol})
        naming.meanings.update({symbol: meaning, "X": f"residual: the input of the {residual}"})
        naming.layers.update({step.node.id: (index, f"the {use}") for step in branch.core})
        return case if is_sole else None
    last, children = branch.last, {child_of(view, step) for step in branch.core}
    if branch.kind == "other":
        is_known = len(children) == 1 and text.child(view, last, branch.reads)
        return "" if is_known else None
    symbol, words, meaning = _BRANCHES[branch.kind]
    text.words.append(words)
    is_attention = "attention" in branch.kind
    case = "" if not is_sole else "attention" if is_attention else "feed-forward"
    if branch.kind == "feed-forward" and (steps := feed_forward.steps_of_network(last)):
        naming.layers.update(uses_of(steps, last.operation, "the feed-forward network’s"))
        return case
    if case == "attention" and not child_of(view, _attention(branch)):
        return None
    reads = (branch.reads, *([_ENCODER] if branch.kind == "cross-attention" else ()))
    dense = view.affine_of(last) if last.operation == "linear" else None
    heads = None if dense is None else graph.maker(last.tensors[0])
    is_open = branch.before is None or len(children) > 1
    if dense and heads and case == "attention" and is_open:
        naming.layers[last.node.id] = ("O", "the output projection")
        shape = (*last.node.shape[:-1], dense.inputs)
        heads = replace(heads, node=replace(heads.node, shape=shape, symbolic_shape=None))
        symbol = symbol.replace('"Attention', '"SelfAttention')
        text.call(heads, symbol, f"multi-head {words}, without its projection", *reads)
        naming.symbols.update({(heads.node.id, ()): "O", (last.node.id, ()): "A"})
        naming.meanings.update({"O": _HEADS, "A": "output of the attention"})
        return "block" if path.order == "after" else "open attention"
    details = next((s.node.details for s in branch.core if s.operation == "experts"), {})
    count, chosen = details.get("experts"), details.get("chosen")
    some = f", {chosen} of {count} for each position" if chosen else f", {count} in all"
    text.call(last, symbol, meaning.format(words, some), *reads)
    return case


def _attention(branch: Branch) -> Step:
    return next(step for step in branch.core if step.operation == "attention")


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
"""Names of layers, their order in words, and a note, by the positions of norms."""

_ROW_WISE = {"feed-forward": "feed-forward network processes", "experts": "experts process"}


def _values(view: ModuleView, path: ResidualPath, words: list[str], case: str) -> dict[str, object]:
    """Return the values for the texts."""
    kinds = [branch.kind for branch in path.branches]
    is_cross, mixes = "cross-attention" in kinds, any("attention" in kind for kind in kinds)
    role = "layer" if view.node.name.isdecimal() else "sub-layer"
    kind = role.capitalize()
    if len(words) > 1 and mixes:
        kind = "Decoder layer" if is_cross else "Transformer layer"
    elif case:
        kind = f"{kinds[0].capitalize()} sub-layer"
    norm = Norm.of(path.norms[0]) if path.norms else None
    a_norm = norm and norm.with_article
    placement, order, where = _ORDERS.get(path.order, _ORDERS["mixed"])
    is_parallel = len({branch.sum.node.id for branch in path.branches}) < len(kinds)
    is_pre = placement == "pre-norm"
    sources = {
        "; pre-norm: Radford et al. 2019, section 2.3, and Xiong et al. 2020": is_pre,
        "; with RMS norms: Raffel et al. 2020, section 2.1": norm is not None
        and norm.name == "RMS norm"
        and is_pre
        and bool(case)
        and not rotates(view),
        "; parallel: Wang & Komatsuzaki 2021": is_parallel,
    }
    return {
        "role": role,
        "width": view.width_of(path.branches[-1].sum),
        "kind": kind,
        "placement": placement,
        "parallel": ", parallel" if is_parallel else "",
        "one": "One sub-layer" if kind.lower().endswith("sub-layer") else "One layer of the stack",
        "parts": joined(words),
        "order": order.format(a_norm).removeprefix("each " if len(kinds) == 1 else ""),
        "where": where,
        "addition": "add & norm" if path.order == "after" else "the residual connection",
        "end": "add & norm" if path.order == "after" else "add",
        "adds": ", adds" if path.order == "after" else " and adds",
        "normalises": " and normalises the sum" if path.order == "after" else "",
        "norm": a_norm,
        "post": norm.name if norm and path.order == "after" else "",
        "row_wise": next((text for key, text in _ROW_WISE.items() if mixes and key in kinds), ""),
        "is_network": kind == "Feed-forward sub-layer" or case == "second half",
        "is_layer": not case,
        "is_optional": kind == "Decoder layer"
        and view.node.class_module.startswith("transformers."),
        "dropout": dropout_of(view),
        "unused": ", ".join(f"“{name}”" for name in uncalled(view)),
        "source": "".join(text for text, holds in sources.items() if holds),
        **_surroundings(view, path.branches[0], case),
    }


def _surroundings(view: ModuleView, branch: Branch, case: str) -> dict[str, object]:
    """Return the values for the texts on which modules compute what."""
    if case in ("block", "open attention"):
        inner, outer = child_of(view, _attention(branch)), child_of(view, branch.last)
        return {"both": inner} if inner == outer else {"inner": inner, "outer": outer}
    parent = view.at(view.node.parent or "")
    if case == "second half":
        follows_cross = parent is not None and "crossattention" in parent.children
        before = f"the {'cross-' * follows_cross}attention block"
        return {"added": "H comes from the first half", "skip": "first half", "before": before}
    if case != "output":
        return {}
    steps = () if parent is None else parent.graph.of("attention")
    names = {child_of(parent, step) for step in steps if parent is not None} - {""}
    name = f"the sibling “{names.pop()}”" if len(names) == 1 else "the attention"
    table = "embeddings_project" if has_module("embeddings_project")(view) else "the embeddings"
    before = f"the previous layer or of {table}"
    if is_cross_attention(view.node.path):
        before = "the layer’s self-attention block"
    return {"added": f"O comes from {name}", "skip": "attention", "before": before}


_NOTES = (
    "Its children are the parts: “{inner}” is the attention, “{outer}” the output projection with "
    "{addition}.",
    "The child “{both}” is the attention with its output projection; the norm belongs to this "
    "module.",
    "The module has two inputs: {added}, and X is the input of the {skip}, that is, the output of "
    "{before}.",
    "Residual connection: each sub-layer’s input is added to its output, so that it need only "
    "learn a correction. The two must have the same shape, and gradients pass through the sum "
    "unchanged.",
    f"{{is_network?}} {feed_forward.ROW_WISE}",
    "Post-norm: the {post} follows the addition, as in the original Transformer, so the residual "
    "path itself is normalised in every layer.",
    "{where}",
    "{parallel?} Parallel sub-layers: attention and feed-forward network read the same input, and "
    "both are added to it in one step. The two can be computed at the same time.",
    "Attention moves information between positions; the {row_wise} each position independently.",
    "{is_layer?} Input and output have the same shape, [S, {width}], so layers can be stacked.",
    "{is_optional?} Cross-attention runs only when encoder hidden states are given.",
    "Not used in this forward pass: {unused}.",
    feed_forward.DROPOUT,
)
_EPSILON = "{norm?} epsilon"
_PAPER = "Vaswani et al. 2017, section"
_ATTENTION = Template(
    "attention block",
    keys=("width", "heads", _EPSILON),
    source=f"{_PAPER}s 3.1 and 3.2{{source}}",
)
LAYER = Template(
    "{role}",
    _layer,
    title="{kind}, {placement}{parallel}",
    summary="{one}: {parts}, {order}.",
    notes=_NOTES,
    keys=("width", "heads", "feed-forward", "activation", "norm first"),
    source=f"{_PAPER} 3.1{{source}}",
    cases={
        "sum": Template(
            "add & norm",
            title="Add & norm",
            summary="Adds the sub-layer’s input (the residual) to its output and normalises the "
            "sum.",
            keys=("width", _EPSILON),
            source=f"{_PAPER} 3.1; He et al. 2016, section 3",
        ),
        "output": Template(
            "{end}",
            title="Output projection, {end}",
            summary="Mixes the heads’ outputs{adds} the attention’s input (the residual)"
            "{normalises}.",
            keys=("width", "groups of features", _EPSILON, "dropout"),
            source=f"{_PAPER}s 3.1 and 3.2.2; He et al. 2016, section 3",
        ),
        "second half": Template(
            "feed-forward, second half",
            title="Feed-forward network, second half, {end}",
            summary="Projects each vector back to {width} features{adds} the network’s input (the "
            "residual){normalises}.",
            keys=("width", "feed-forward", "groups of features", _EPSILON, "dropout"),
            source=f"{_PAPER}s 3.1 and 3.3",
        ),
        "block": replace(
            _ATTENTION,
            title="Attention block",
            summary="The first sub-layer of a layer: attention, its output projection, the "
            "residual connection and {norm}.",
        ),
        "attention": _ATTENTION,
        "open attention": _ATTENTION,
        "feed-forward": Template(
            "feed-forward sub-layer",
            keys=("width", "feed-forward", "experts", "activation", _EPSILON, "dropout"),
            source=f"{_PAPER}s 3.1 and 3.3{{source}}",
        ),
    },
)
"""Layers of a list are called “layer”, all others “sub-layer”."""
