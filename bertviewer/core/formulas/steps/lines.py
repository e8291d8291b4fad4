"""The lines and terms of a module's formula, one line per step, in the order of execution."""

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from bertviewer.core.formulas.formula import TARGET, TOKENS, Formula, Term, indices, quoted
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.steps.attention import ROOT
from bertviewer.core.formulas.steps.loops import fold_loop
from bertviewer.core.formulas.steps.naming import DEFAULT_NAMES, Names, Naming
from bertviewer.core.formulas.steps.operations import OPERATIONS, list_name
from bertviewer.core.formulas.steps.writer import Legend, Writer, at_iteration
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.graph.module_graph import MANY, ModuleGraph, Step
from bertviewer.core.schema.flow import KnownOperation, Node, Operand
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import joined

TRACED = "traced from the code"
_MEANINGS = {
    "residual": "sum with the residual",
    "add": "sum",
    "routing": "the selected experts",
    "experts": "weighted sum of the experts",
    "attention": "output of the attention",
    "activation": "output of the activation",
    "mul": "product",
    "matmul": "matrix product",
    "div": "quotient",
    "sub": "difference",
    "neg": "negative",
    "exp": "power of e",
    "maximum": "the larger number of each pair",
    "minimum": "the smaller number of each pair",
    "clamp": "bounded numbers",
    "cat": "tensors joined",
    "stack": "tensors stacked",
    "__setitem__": "tensor with a part replaced",
}
_BY_NAME = ("linear", "embedding", "convolution")


def formula_of_steps(view: ModuleView) -> Formula | None:
    """Return a module's steps as a formula, ``None`` if it was not traced."""
    explained = _STEPS.explain(view)
    return None if explained is None else explained[0]


def match_of_steps(view: ModuleView, **values: object) -> Match | None:
    """Return a module's steps for a template; ``{steps}`` is the note about them."""
    if not view.is_called:
        return None
    found = fold_loop(view.graph)
    if len(found.steps) > MANY and view.calls.steps:
        found = fold_loop(view.calls)
    written, name = write(found, view), view.node.class_name
    length = view.flows.lengths.get("S")
    tokens = f" with {length} tokens; the shapes are for that length" if length else ""
    steps = (
        f"These are the steps of the code, traced from one forward pass{tokens}. Views, "
        "transposes, casts and dropout (which has no effect in evaluation mode) are omitted."
    )
    return replace(
        written,
        maths=written.maths or (f"Y = {quoted(name)}(X)",),
        values={"class": name, "summary": _summary(found), "steps": steps, **values},
    )


_STEPS = Template("", match_of_steps, "{class}", "{summary}", ("{steps}",), source=TRACED)


def write(graph: ModuleGraph, view: ModuleView, naming: Naming = DEFAULT_NAMES) -> Match:
    """Return a graph's lines and terms."""
    graph = graph.up_to(len(naming.results)) if naming.results else graph
    names, legend = Names(graph, view, naming), Legend(view, naming.from_template)
    maths = tuple(_lines(Writer(graph, names, legend, OPERATIONS)))
    for symbol, meaning in naming.meanings.items():
        legend.add(symbol, meaning)
    whole, known = " ".join(maths), naming.meanings
    terms = [
        replace(term, meaning=known.get(term.symbol, term.meaning))
        for term in legend.terms.values()
        if _is_in(whole, term)
    ]
    whole += " ".join(term.value for term in terms if term.value)
    lengths = (term for term in (TOKENS, TARGET) if _is_in(whole, term))
    return Match(maths, (*lengths, *terms), has_model_lengths=True)


def _is_in(maths: str, term: Term) -> bool:
    symbol = re.escape(term.symbol)
    return re.search(rf"(?<![\w\"]){symbol}(_e\b|(?!\w))", maths) is not None


def _lines(writer: Writer) -> Iterator[str]:
    """Yield the lines, then those that define functions."""
    names, legend, iterations = writer.names, writer.legend, writer.names.iterations
    looped = [node for node in iterations if node in names.line_nodes]
    for step in writer.graph.steps:
        node = step.node.id
        if node not in names.line_nodes:
            continue
        if step.node.repeat is not None:
            yield from _layer_lines(writer, step, step.node.repeat.count)
            continue
        maths = writer.step(step).text
        line = f"{_target(writer, step)} = {maths}{writer.take_clauses()}"
        if node in looped[:1]:
            legend.add("τ", "loop iteration; before the first, the value is the initial one")
            line += f", quad τ = 0, dots, {iterations[node] - 1}"
        elif step.operation == "attention" and ROOT in maths:
            line += f", quad d_k = {step.node.details.get('head_size')}"
        yield line
    for symbol, (output, operand) in zip(names.results, writer.graph.results, strict=True):
        is_shown = operand.node in names.step_results and not operand.parts
        if not is_shown and (value := writer.of(operand).text) != symbol:
            yield f"{legend.sized(symbol, output)} = {value}"
            legend.add_value(symbol, "output", output)
    yield from writer.definitions.values()


def _target(writer: Writer, step: Step) -> str:
    """Return the symbols on the left side of a step's line, and add their terms."""
    node, names, legend = step.node, writer.names, writer.legend
    if symbols := names.splits.get(node.id):
        return writer.split_symbols(symbols, f"the {_meaning(node)}")
    symbol = names.symbols.get((node.id, ()), "")
    if step.operation == "routing":
        if isinstance(chosen := node.details.get("chosen"), int):
            # The node may have the shape of the scores.
            node = replace(node, shape=(*node.shape[:-1], chosen), symbolic_shape=None)
        legend.add_value(symbol, _meaning(node), node)
        return f"(r, {symbol})"
    if node.id in names.iterations:
        symbol = at_iteration(symbol, "τ")
        legend.add_value(symbol, _meaning(node), node)
        return symbol
    outputs = [part.node for part in step.parts if part.node.id in step.outputs]
    if not outputs:
        targets = names.step_results.get(node.id, {symbol: node})
        for each, given in targets.items():
            legend.add_value(each, _meaning(node), given)
        return ", ".join(legend.sized(*each) for each in targets.items())
    return ", ".join(_output_symbol(writer, output) for output in outputs)


def _output_symbol(writer: Writer, output: Node) -> str:
    """Return the symbol of one of a step's outputs, or of its parts if only these are read."""
    names, legend = writer.names, writer.legend
    if symbols := names.splits.get(output.id):
        return writer.split_symbols(symbols, f"the {_meaning(output)}")
    symbol = names.symbols[output.id, ()]
    legend.add_value(symbol, _meaning(output), output)
    return legend.sized(symbol, output)


def _layer_lines(writer: Writer, step: Step, count: int) -> Iterator[str]:
    """Yield the lines of layers that are applied in sequence."""
    node, names, legend = step.node, writer.names, writer.legend
    first, *others = writer.arguments(step, writer.of)
    base = names.stacks[node.id]
    usual = '"Layer"' if legend.from_template else quoted(list_name(node) or node.name)
    function = names.naming.functions.get(node.id) or usual
    start = next(iter(step.tensors), Operand())
    if names.symbols.get((start.node, start.parts)) != f"{base}_0":
        yield f"{base}_0 = {first}"
    arguments = ", ".join((f"{base}_l", *others))
    yield f"{base}_(l+1) = {function}_l ({arguments}), quad l = {indices(count)}"
    legend.add(f"{base}_l", "hidden state l: the input of layer l, one row per position")
    layers = count_text(count, "1 layer", "{0} layers")
    legend.add("l", "index of the layer, counted from 0", layers)
    if not legend.from_template:
        legend.add_module(f"{function}_l", node.path or "", "layer l, ")


def _meaning(node: Node) -> str:
    """Return the meaning of a node's result."""
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
    count, known = len(graph.steps), [word for kind, word in _WORDS.items() if graph.of(kind)]
    steps = count_text(
        count, "One step, as the code executes it", "{0} steps, as the code executes them"
    )
    listed = joined(known)
    return f"{steps}{': ' if count == 1 else ', including '}{listed}." if known else f"{steps}."
