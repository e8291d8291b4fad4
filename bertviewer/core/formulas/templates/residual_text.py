"""The lines and terms of residual paths: layers, sub-layers and parts of them."""

from dataclasses import dataclass, field, replace

from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.formulas.steps.formula import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.steps.networks import uses_of
from bertviewer.core.formulas.steps.origins import Place
from bertviewer.core.formulas.templates.feed_forward import half_of_network, steps_of_network
from bertviewer.core.formulas.templates.norm import is_norm
from bertviewer.core.formulas.templates.residual import (
    Branch,
    ResidualPath,
    child_of,
    is_learnt,
)
from bertviewer.core.formulas.templates.template import Match
from bertviewer.core.graph.module_graph import Step

_BRANCHES = {
    "attention": ('"Attention"', "self-attention", "multi-head {}, with its output projection"),
    "cross-attention": ('"CrossAttention"', "cross-attention", "attention to the encoder’s output"),
    "feed-forward": ('op("FFN")', "a feed-forward network", "{}, applied to each row"),
    "experts": ('op("MoE")', "a mixture of experts", "{}{}"),
}
"""How branches are called in lines, in sentences and in terms."""
_HEADS = "outputs of the heads, side by side"
_INPUTS = {
    "add & norm": ("Z", "output of the sub-layer", "sub-layer", "", ""),
    "output": ("Z", _HEADS, "attention", "output projection", "O"),
    "second half": ("H", "output of the first half", "first half", "second linear layer", "2"),
    "add": ("Z", "output of the preceding part", "sub-layer, not normalised", "projection", ""),
}
"""An input that is added: symbol, meaning, whose input R is, what projects it, and the index."""
_ENCODER = 'X_"enc"'
_MEANINGS = {
    "X": "input, one row per position",
    _ENCODER: "the encoder’s output",
    "N": "the normalised input, which all parallel sub-layers read",
    "Y": "output, one row per position",
}


@dataclass(slots=True)
class PathText:
    """How a residual path is written: what the writer is given, gathered part by part.

    Attributes:
        path: the residual path.
        words: its entry and branches as parts of a sentence, norms left out.
        case: which template a module has that adds an input to another one, "" for others.
        is_projected: whether the heads' outputs and their projection are written apart.
        calls: the steps that are written as calls, or in another way, by node.
        functions, symbols, meanings, layers: as in ``Naming``.
    """

    path: ResidualPath
    words: list[str] = field(default_factory=list)
    case: str = ""
    is_projected: bool = False
    calls: dict[str, Step] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    symbols: dict[Place, str] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=lambda: dict(_MEANINGS))
    layers: dict[str, tuple[str, str]] = field(default_factory=dict)

    def call(self, step: Step, symbol: str, meaning: str, *reads: str) -> None:
        """Have a step written as a function of other nodes' results."""
        node = replace(step.node, kind="module", operation="call", nodes=None, details={})
        self.calls[node.id] = Step(node, tuple(map(Operand, reads)), {})
        self.functions[node.id], self.meanings[symbol] = symbol, meaning

    def child(self, view: ModuleView, step: Step, reads: str) -> bool:
        """Have a child that is explained elsewhere written as a call; false if it is no child."""
        child = view.children.get(child_of(view, step))
        if child is not None:
            about = f"the child “{child.name}” ({child.class_name}), explained on its own page"
            self.call(step, quoted(child.name), about, reads)
            self.words.append(f"“{child.name}”")
        return child is not None


def text_of(view: ModuleView, path: ResidualPath) -> PathText | None:
    """Return how a residual path is written, ``None`` if a part of it is not known."""
    text, entry, states = PathText(path), path.entry, dict[str, str]()
    text.symbols = {(path.start, ()): "X", (_ENCODER, ()): _ENCODER, ("lambda", ()): "lambda"}
    if entry is not None:
        text.symbols[entry.node.id, ()] = "X'"
        if not is_norm(entry) and not text.child(view, entry, path.start):
            return None
    for branch in path.branches:
        if not _add(text, view, branch):
            return None
        if text.words:
            states[(branch.after or branch.sum).node.id] = f"hidden state after {text.words[-1]}"
    for number, (node, meaning) in enumerate([*states.items()][:-1]):
        symbol = "Z" + "'" * number
        text.symbols[node, ()], text.meanings[symbol] = symbol, meaning
    return text


def _add(text: PathText, view: ModuleView, branch: Branch) -> bool:
    """Add a branch; return whether it is known."""
    is_sole = len(text.path.branches) == 1 and text.path.entry is None
    if (scale := branch.scale) is not None and view.graph is not None:
        width = view.width_of(branch.sum)
        text.meanings["lambda"] = f"learnt scale of each of the {width} features (layer scale)"
        learnt = [o for o in scale.operands if is_learnt(view.graph, o)]
        text.symbols |= {(o.node, ()): "lambda" for o in learnt if o.node}
        factors = tuple(Operand("lambda") if o.parameter else o for o in scale.operands)
        node = replace(scale.node, kind="operation")
        text.calls[node.id] = replace(scale, node=node, operands=factors)
    if branch.kind == "input":
        text.case = "add" if branch.core else "add & norm"
        if branch.after and branch.core:
            text.case = "second half" if half_of_network(view) == "second" else "output"
        symbol, meaning, residual, use, index = _INPUTS[text.case]
        text.symbols |= {(text.path.start, ()): "R", (branch.reads, ()): symbol}
        text.meanings |= {symbol: meaning, "R": f"residual: the input of the {residual}"}
        text.layers |= {step.node.id: (index, f"the {use}") for step in branch.core}
        return is_sole
    last, children = branch.last, {child_of(view, step) for step in branch.core}
    if branch.kind == "other":
        return len(children) == 1 and text.child(view, last, branch.reads)
    symbol, words, meaning = _BRANCHES[branch.kind]
    text.words.append(words)
    if branch.kind == "feed-forward" and (steps := steps_of_network(last)):
        text.layers |= uses_of(steps, last.operation, "the feed-forward network’s")
        return True
    reads = (branch.reads, *([_ENCODER] if branch.kind == "cross-attention" else ()))
    dense = view.affine_of(last) if last.operation == "linear" else None
    heads = None if dense is None or view.graph is None else view.graph.maker(last.tensors[0])
    is_open = "attention" in branch.kind and (branch.before is None or len(children) > 1)
    if dense and heads and is_sole and is_open:
        text.is_projected = True
        text.layers[last.node.id] = ("O", "the output projection")
        symbol = symbol.replace('"Attention', '"SelfAttention')
        text.call(heads, symbol, f"multi-head {words}, without its projection", *reads)
        shape = (*last.node.shape[:-1], dense.inputs)
        node = replace(text.calls[heads.node.id].node, shape=shape, symbolic_shape=None)
        text.calls[node.id] = replace(text.calls[node.id], node=node)
        text.symbols |= {(node.id, ()): "Z", (last.node.id, ()): "A"}
        text.meanings |= {"Z": _HEADS, "A": "output of the attention"}
        return True
    details = next((s.node.details for s in branch.core if s.operation == "experts"), {})
    count, chosen = details.get("experts"), details.get("chosen")
    some = f", {chosen} of {count} for each position" if chosen else f", {count} in all"
    text.call(last, symbol, meaning.format(words, some), *reads)
    return True


def written(view: ModuleView, text: PathText) -> Match:
    """Return the lines and terms of a residual path."""
    graph = view.graph
    assert graph is not None
    steps = tuple(text.calls.get(step.node.id, step) for step in graph.steps)
    naming = Naming(
        results=("Y",),
        symbols=text.symbols,
        layers=text.layers,
        meanings=text.meanings,
        functions=text.functions,
        teaches=True,
    )
    return write(replace(graph, steps=steps), view, naming)
