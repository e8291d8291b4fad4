"""The lines and terms of residual paths: layers, sub-layers and parts of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.feed_forward import (
    half_of_network,
    steps_of_network,
    uses_of,
)
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import (
    Branch,
    ResidualPath,
    child_of,
    is_learnt,
)
from bertviewer.core.formulas.templates.template import Match
from bertviewer.core.frozen import frozen

_BRANCHES = {
    "attention": ('"Attention"', "self-attention", "multi-head {}, with its output projection"),
    "cross-attention": ('"CrossAttention"', "cross-attention", "attention to the encoder’s output"),
    "feed-forward": ('op("FFN")', "a feed-forward network", "{}, applied to each row"),
    "experts": ('op("MoE")', "a mixture of experts", "{}{}"),
}
"""How branches are called in lines, in sentences and in terms."""
_HEADS = "outputs of the heads, side by side"
_INPUTS = {
    "add & norm": ("Z", "output of the sub-layer", "the sub-layer", "", ""),
    "output": ("Z", _HEADS, "the attention", "the output projection", "O"),
    "second half": (
        "H",
        "output of the first half",
        "the first half",
        "the second linear layer",
        "2",
    ),
    "add": (
        "Z",
        "output of the preceding part",
        "the sub-layer, not normalised",
        "the projection",
        "",
    ),
}
"""An input that is added: symbol, meaning, whose input R is, what projects it, and the index."""
_ENCODER = 'X_"enc"'
_MEANINGS = {
    "X": "input, one row per position",
    _ENCODER: "the encoder’s output",
    "N": "the normalised input, which all parallel sub-layers read",
    "Y": "output, one row per position",
    "lambda": "learnt scale of each feature (layer scale)",
}
_GIVEN: Mapping[Place, str] = {(symbol, ()): symbol for symbol in (_ENCODER, "lambda")}
"""Symbols of what no step computes."""


@frozen
class Part:
    """What a residual path adds, or a step before that.

    Attributes:
        words: it as part of a sentence, "" for norms.
        call: the step that is written as a call, ``None`` if all is written out.
        symbol: the function that is called.
        meaning: what the function is.
        uses: index and use of the linear layers that are written out, by node.
        case: which template a module has that adds an input to another one.
    """

    words: str = ""
    call: Step | None = None
    symbol: str = ""
    meaning: str = ""
    uses: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    case: str = ""


def parts_of(view: ModuleView, path: ResidualPath) -> list[Part]:
    """Return how the entry and the branches are written, nothing if one of them is unknown."""
    found: list[Part | None] = []
    if path.entry is not None and not is_norm(path.entry):
        found.append(_child(view, path.entry))
    elif path.entry is not None:
        found.append(Part())
    found += [_part(view, path, branch) for branch in path.branches]
    parts = [part for part in found if part is not None]
    return parts if len(parts) == len(found) else []


def _child(view: ModuleView, step: Step) -> Part | None:
    child = view.children.get(child_of(view, step))
    if child is None:
        return None
    symbol = quoted(child.name)
    about = f"the child “{child.name}” ({child.class_name}), explained on its own page"
    return Part(f"“{child.name}”", step, symbol, about)


def _part(view: ModuleView, path: ResidualPath, branch: Branch) -> Part | None:
    """Return how a branch is written, ``None`` if it is neither a child nor a known pattern."""
    is_sole = len(path.branches) == 1 and path.entry is None
    if branch.kind == "input":
        return _input(view, branch) if is_sole else None
    if branch.kind == "other":
        is_one = len({child_of(view, step) for step in branch.core}) == 1
        return _child(view, branch.last) if is_one else None
    symbol, words, meaning = _BRANCHES[branch.kind]
    if branch.kind == "feed-forward" and (steps := steps_of_network(branch.last, view)):
        uses = uses_of(steps, branch.last.operation, "the feed-forward network’s")
        return Part(words, uses=uses)
    dense = view.affine_of(branch.last) if branch.last.operation == "linear" else None
    heads = None if view.graph is None else view.graph.maker(next(iter(branch.last.tensors), None))
    is_direct = branch.before is None or len({child_of(view, step) for step in branch.core}) > 1
    if dense and heads and is_sole and is_direct and "attention" in branch.kind:
        shape = (*branch.last.node.shape[:-1], dense.inputs)
        heads = replace(heads, node=replace(heads.node, shape=shape, symbolic_shape=None))
        uses = {branch.last.node.id: ("O", "the output projection")}
        symbol = symbol.replace('"Attention', '"SelfAttention')
        return Part(words, heads, symbol, f"multi-head {words}, without its projection", uses)
    some = ""
    for details in (step.node.details for step in branch.core if step.operation == "experts"):
        count, chosen = details.get("experts"), details.get("chosen")
        some = f", {chosen} of {count} for each position" if chosen else f", {count} in all"
    return Part(words, branch.last, symbol, meaning.format(words, some))


def _input(view: ModuleView, branch: Branch) -> Part:
    """Return how an input that is added to another one is written."""
    case = "add" if branch.core else "add & norm"
    if branch.after and branch.core:
        case = "second half" if half_of_network(view) == "second" else "output"
    *_, use, index = _INPUTS[case]
    return Part(uses={step.node.id: (index, use) for step in branch.core}, case=case)


def written(view: ModuleView, path: ResidualPath, parts: Sequence[Part]) -> Match:
    """Return the lines and terms of a residual path; its entry and each branch have a part."""
    graph, entry, branches = view.graph, path.entry, path.branches
    assert graph is not None
    calls, functions = dict[str, Step](), dict[str, str]()
    symbols: dict[Place, str] = {(path.start, ()): "X", **_GIVEN}
    meanings = dict(_MEANINGS)

    def call(step: Step, symbol: str, meaning: str, operands: Iterable[Operand]) -> None:
        node = replace(step.node, kind="module", operation="call", nodes=None, details={})
        calls[node.id] = Step(node, tuple(operands), {})
        functions[node.id], meanings[symbol] = symbol, meaning

    if entry is not None:
        symbols[entry.node.id, ()] = "X'"
        if parts[0].call is not None:
            call(entry, parts[0].symbol, parts[0].meaning, [Operand(path.start)])
    states = dict[str, str]()
    for part, branch in zip(parts[-len(branches) :], branches, strict=True):
        states[(branch.after or branch.sum).node.id] = f"hidden state after {part.words}"
        if part.case:
            symbol, meanings[symbol], residual, *_ = _INPUTS[part.case]
            symbols |= {(path.start, ()): "R", (branch.reads, ()): symbol}
            meanings["R"] = f"residual: the input of {residual}"
        if part.call is not None:
            more = [_ENCODER] if branch.kind == "cross-attention" else []
            call(part.call, part.symbol, part.meaning, map(Operand, (branch.reads, *more)))
        if part.call is not None and part.uses:  # the heads' outputs, which are projected
            node = part.call.node
            calls[node.id] = replace(calls[node.id], parts=(part.call,), outputs=(node.id,))
            symbols[node.id, ()], meanings["Z"] = "Z", _HEADS
        if (scale := branch.scale) is not None:
            node = replace(scale.node, kind="operation")
            learnt = [o for o in scale.operands if is_learnt(graph, o)]
            symbols |= {(o.node, ()): "lambda" for o in learnt if o.node}
            factors = (Operand("lambda") if o.parameter else o for o in scale.operands)
            calls[node.id] = replace(scale, node=node, operands=tuple(factors))
    for n, (node, meaning) in enumerate([*states.items()][:-1]):
        symbols[node, ()] = "Z" + "'" * n
        meanings["Z" + "'" * n] = meaning
    for norm in path.norms:
        if norm.operation == "scale and shift":  # the writer writes it out
            found = Norm.of(norm)
            call(norm, found.operator, found.meaning, norm.tensors)
    steps = tuple(calls.get(step.node.id, step) for step in graph.steps)
    naming = Naming(
        results=("Y",),
        symbols=symbols,
        layers={node: use for part in parts for node, use in part.uses.items()},
        meanings=meanings,
        functions=functions,
        teaches=True,
    )
    return write(replace(graph, steps=steps), view, naming)
