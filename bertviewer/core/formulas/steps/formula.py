"""Flow to ``Formula``: what a module computes, one line a step, as the code ran."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from bertviewer.core.architecture.flow import KnownOperation, Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TARGET, TOKENS, indices, quoted
from bertviewer.core.formulas.steps.attention import ROOT
from bertviewer.core.formulas.steps.inlining import own_steps
from bertviewer.core.formulas.steps.legend import Legend
from bertviewer.core.formulas.steps.loops import folded
from bertviewer.core.formulas.steps.naming import PLAIN, Names, Naming
from bertviewer.core.formulas.steps.operations import OPERATIONS, list_name
from bertviewer.core.formulas.steps.writer import Writer, at_round
from bertviewer.core.formulas.templates.template import Match
from bertviewer.core.graph.module_graph import MANY, ModuleGraph, Step
from bertviewer.core.text.numerals import count_text

SOURCE = "traced from the code"
_MEANINGS = {
    "residual": "sum with the residual",
    "add": "sum",
    "routing": "the selected experts",
    "experts": "weighted sum of the experts",
    "attention": "output of the attention",
    "activation": "output of the activation",
    "mul": "product",
}
_BY_NAME = ("linear", "embedding", "convolution")

NO_LOOPS: Mapping[str, int] = {}


def formula_of_steps(view: ModuleView) -> Formula | None:
    """Return what a module computes, one line per step; ``None`` if it was not traced."""
    graph, flows = view.graph, view.architecture.flows
    if graph is None or flows is None:
        return None
    found = folded(graph)
    if len(found.steps.steps) > MANY and view.calls is not None:
        found = folded(view.calls)
    written = write(found.steps, view, rounds=found.rounds)
    return Formula(
        title=view.node.class_name,
        summary=_summary(found.steps),
        maths=written.maths or (f"Y = {quoted(view.node.class_name)}(X)",),
        terms=written.terms,
        notes=(_note(flows.lengths.get("S")),),
        source=SOURCE,
    )


def write(
    graph: ModuleGraph,
    view: ModuleView,
    naming: Naming = PLAIN,
    rounds: Mapping[str, int] = NO_LOOPS,
) -> Match:
    """Return a graph's lines and terms; ``rounds`` tells how often the steps of a loop are done."""
    graph = graph.up_to(len(naming.results)) if naming.results else graph
    own = own_steps(graph, rounds) | {node for node, parts in naming.symbols if not parts}
    names, legend = Names(graph, view, naming, own), Legend(view, naming.teaches)
    maths = tuple(_lines(Writer(graph, names, legend, OPERATIONS), rounds))
    for symbol, meaning in naming.meanings.items():
        legend.add(symbol, meaning)
    known, whole = naming.meanings, " ".join(maths)
    terms = [
        replace(term, meaning=known.get(term.symbol, term.meaning))
        for term in (TOKENS, TARGET, *legend.terms.values())
        if re.search(rf"(?<![\w\"]){re.escape(term.symbol)}(_e\b|(?!\w))", whole)
    ]
    return Match(maths, tuple(terms), is_lettered=True)


def match_of_steps(view: ModuleView, **values: object) -> Match | None:
    """Return what a module computes for a template; the note on its steps is ``{steps}``."""
    written = formula_of_steps(view)
    if written is None:
        return None
    values = {"steps": written.notes[0], **values}
    return Match(written.maths, written.terms, values, is_lettered=True)


def _lines(writer: Writer, rounds: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines; last those that define functions.

    Args:
        writer: writes the steps.
        rounds: how often the steps of a loop are executed, by node.
    """
    names, graph = writer.names, writer.graph
    looped = [node for node in rounds if node in names.own]
    for step in graph.steps:
        if step.node.repeat is not None and step.node.id in names.own:
            yield from _stack(writer, step, step.node.repeat.count)
        elif step.node.id in names.own:
            maths = writer.step(step).text
            line = f"{_target(writer, step, rounds)} = {maths}"
            if step.node.id in looped[:1]:
                meaning = "loop iteration; before the first, the value is the initial one"
                writer.legend.add("t", meaning)
                line += f", quad t = 0, dots, {rounds[step.node.id] - 1}"
            elif step.operation == "attention" and ROOT in maths:
                line += f", quad d_k = {step.node.details.get('head_size')}"
            yield line
    for symbol, (node, operand) in zip(names.results, graph.results, strict=True):
        if operand.parts or operand.node not in names.final:
            value = writer.of(operand).text
            if value != symbol:
                yield f"{writer.legend.sized(symbol, node)} = {value}"
                writer.legend.value(symbol, "output", node)
    yield from writer.definitions.values()


def _target(writer: Writer, step: Step, rounds: Mapping[str, int]) -> str:
    """Return the symbol of what a step computes, or of its parts, explained."""
    node, names, legend = step.node, writer.names, writer.legend
    symbol = names.places.get((node.id, ()), "")
    if step.operation == "routing":
        if isinstance(chosen := node.details.get("chosen"), int):
            # The node's shape may be that of the scores, one for each expert.
            node = replace(node, shape=(*node.shape[:-1], chosen), symbolic_shape=None)
        legend.value(symbol, _meaning(node), node)
        return f"(g, {symbol})"
    if parts := names.parts_of(node.id):
        legend.add(", ".join(parts), "adjacent parts of one product")
        return f"({', '.join(parts)})"
    if node.id in rounds:
        legend.value(at_round(symbol, "t"), _meaning(node), node)
        return at_round(symbol, "t")
    targets: dict[str, Node] = {}
    for part in step.parts:
        if part.node.id in step.outputs:
            targets[names.places[part.node.id, ()]] = part.node
    if not targets and node.id in names.final:
        for result, (given, operand) in zip(names.results, writer.graph.results, strict=True):
            if operand.node == node.id and not operand.parts:
                targets.setdefault(result, given)
    targets = targets or {symbol: node}
    for each, value in targets.items():
        legend.value(each, _meaning(value if step.outputs else node), value)
    return ", ".join(legend.sized(*each) for each in targets.items())


def _stack(writer: Writer, step: Step, count: int) -> Iterator[str]:
    """Yield the lines of layers that are applied in sequence."""
    node, names, teaches = step.node, writer.names, writer.legend.teaches
    first, *others = writer.arguments(step, writer.of)
    base = names.stacks[node.id]
    usual = '"Layer"' if teaches else quoted(list_name(node) or node.name)
    function = names.naming.functions.get(node.id) or usual
    start = next(iter(step.tensors), Operand())
    if names.places.get((start.node, start.parts)) != f"{base}_0":
        yield f"{base}_0 = {first}"
    arguments = ", ".join((f"{base}_l", *others))
    yield f"{base}_(l+1) = {function}_l ({arguments}), quad l = {indices(count)}"
    meaning = "hidden state l: the input of layer l, one row per position"
    writer.legend.add(f"{base}_l", meaning)
    layers = count_text(count, "1 layer", "{0} layers")
    writer.legend.add("l", "index of the layer, counted from 0", layers)
    if not teaches:
        writer.legend.module(f"{function}_l", node.path or "", "layer l, ")


def _meaning(node: Node) -> str:
    """Return what a value is, in words."""
    heads, size = node.details.get("heads"), node.details.get("head_size")
    if node.operation == "attention" and isinstance(heads, int):
        each = count_text(heads, "1 head", "{0} heads")
        each += f" of {size} features" if isinstance(size, int) else ""
        shared = node.details.get("key_value_heads")
        if isinstance(shared, int) and shared != heads:
            each += f" and {count_text(shared, '1 key/value head', '{0} key/value heads')}"
        return f"outputs of {each}, side by side"
    name = (node.path or "").rpartition(".")[2] if node.kind == "module" else node.name
    if node.operation in _BY_NAME or node.kind == "module":
        return f"output of “{name}”"
    return _MEANINGS.get(node.operation or "", node.operation or "result")


_WORDS: Mapping[KnownOperation, str] = {
    "attention": "attention",
    "feed-forward": "a feed-forward network",
    "gated feed-forward": "a gated feed-forward network",
    "experts": "a mixture of experts",
    "convolution": "a convolution",
    "embedding": "a table lookup",
    "residual": "a residual connection",
    "layer norm": "a layer norm",
    "rms norm": "an RMS norm",
    "rotary": "rotary position embedding",
    "linear": "a linear layer",
    "activation": "an activation",
}


def _summary(graph: ModuleGraph) -> str:
    if not graph.steps:
        if any(node.kind == "constant" for node in graph.given.values()):
            return "Its output depends on positions, masks or its own constants, not on the text."
        return "Returns its input in another form or in part, without computing anything."
    done = [step.node for step in graph.steps]
    known = [word for kind, word in _WORDS.items() if any(node.operation == kind for node in done)]
    is_one = len(done) == 1
    steps = (
        "One step, as the code executes it"
        if is_one
        else f"{len(done)} steps, as the code executes them"
    )
    listed = " and ".join(each for each in (", ".join(known[:-1]), *known[-1:]) if each)
    return f"{steps}{': ' if is_one else ', including '}{listed}." if known else f"{steps}."


def _note(length: int | None) -> str:
    tokens = f" with {length} tokens; the shapes are for that length" if length else ""
    return (
        f"These are the steps of the code, traced from one forward pass{tokens}. Views, "
        "transposes, casts and dropout (which has no effect in evaluation mode) are omitted."
    )
