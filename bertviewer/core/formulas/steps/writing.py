"""Writes a flow's steps as lines of mathematics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.notation import indices, quoted
from bertviewer.core.formulas.steps.attention import ROOT
from bertviewer.core.formulas.steps.expressions import Expressions, list_of
from bertviewer.core.formulas.steps.values import at_round
from bertviewer.core.text.numerals import count_text

_MEANINGS = {
    "residual": "sum with the residual",
    "add": "sum",
    "routing": "the selected experts",
    "experts": "weighted sum of the experts",
    "attention": "output of the attention",
    "activation": "output of the activation",
    "mul": "product",
}


@dataclass(slots=True)
class Writer:
    """Writes the lines of one module; those of a loop are told by ``rounds``."""

    say: Expressions
    rounds: Mapping[str, int]
    _loops: set[int] = field(default_factory=set)

    def lines(self) -> Iterator[str]:
        """Yield the lines in the order of execution, and then those that define functions."""
        for step in self.say.steps.steps:
            if step.node.id in self.say.names.own:
                yield from self._lines_of(step)
        names = self.say.names
        for symbol, (node, operand) in zip(names.results, self.say.steps.results, strict=True):
            if operand.parts or operand.node not in names.final:
                value = self.say.values.of(operand).text
                if value != symbol:
                    yield f"{self.say.values.sized(symbol, node)} = {value}"
                    self.say.values.explain(symbol, "output", node)
        yield from self.say.networks.lines.values()
        yield from self.say.definitions.values()

    def _lines_of(self, step: Step) -> Iterator[str]:
        node = step.node
        chosen = node.details.get("chosen")
        if node.operation == "routing" and isinstance(chosen, int):
            # The node's shape may be that of the scores, one for each expert.
            node = replace(node, shape=(*node.shape[:-1], chosen), symbolic_shape=None)
        if node.repeat is not None:
            yield from self._stack(step)
            return
        maths = self.say.expression(step).text
        if parts := self.say.names.parts_of(node.id):
            target = f"({', '.join(parts)})"
            self.say.legend.add(", ".join(parts), "adjacent parts of one product")
        elif step.outputs:
            target = ", ".join(self._target(self._output(step, each)) for each in step.outputs)
        else:
            target = self._results_of(node) or self._target(node)
        if node.operation == "routing":
            target = f"(g, {self.say.names.symbol(node.id)})"
        yield f"{target} = {maths}{self._conditions(step, maths)}"

    def _results_of(self, node: Node) -> str:
        """Return the symbols of the results that a step computes, "" for other steps."""
        names, found = self.say.names, {}
        if node.id not in names.final or node.id in self.rounds:
            return ""
        for symbol, (result, operand) in zip(names.results, self.say.steps.results, strict=True):
            if operand.node == node.id and not operand.parts and symbol not in found:
                self.say.values.explain(symbol, _meaning(node), result)
                found[symbol] = self.say.values.sized(symbol, result)
        return ", ".join(found.values())

    def _output(self, step: Step, node: str) -> Node:
        return next(part.node for part in step.parts if part.node.id == node)

    def _target(self, node: Node) -> str:
        """Return the symbol of what a step computes, explained."""
        symbol = self.say.names.symbol(node.id)
        if node.id in self.rounds:
            symbol = at_round(symbol, "t")
            self.say.values.explain(symbol, _meaning(node), node)
            return symbol
        self.say.values.explain(symbol, _meaning(node), node)
        return self.say.values.sized(symbol, node)

    def _conditions(self, step: Step, maths: str) -> str:
        """Return the end of a line: what d_k is, and how often a loop is done."""
        rounds = self.rounds.get(step.node.id)
        if rounds is not None and rounds not in self._loops:
            self._loops.add(rounds)
            self.say.legend.add(
                "t", "loop iteration; before the first, the value is the initial one"
            )
            return f", quad t = 0, dots, {rounds - 1}"
        if step.node.operation == "attention" and ROOT in maths:
            return f", quad d_k = {step.node.details.get('head_size')}"
        return ""

    def _stack(self, step: Step) -> Iterator[str]:
        """Yield the lines of layers that are applied in sequence."""
        node, repeat, names = step.node, step.node.repeat, self.say.names
        assert repeat is not None
        first, *others = self.say.values.arguments(step)
        base = names.stacks[node.id]
        usual = '"Layer"' if names.naming.teaches else quoted(list_of(node) or node.name)
        function = names.naming.functions.get(node.id) or usual
        more = "".join(f", {each}" for each in others)
        start = step.tensors[0] if step.tensors else Operand()
        if names.places.get((start.node, start.parts)) != f"{base}_0":
            yield f"{base}_0 = {first}"
        yield f"{base}_(l+1) = {function}_l ({base}_l{more}), quad l = {indices(repeat.count)}"
        self.say.legend.add(
            f"{base}_l", "hidden state l: the input of layer l, one row per position"
        )
        count = count_text(repeat.count, "1 layer", "{0} layers")
        self.say.legend.add("l", "index of the layer, counted from 0", count)
        if not names.naming.teaches:
            about = node.class_name or "a module of the list"
            self.say.legend.add(f"{function}_l", f"layer l, {about}", self.say.parameters(node))


def _meaning(node: Node) -> str:
    """Return what a value is, in words."""
    heads, size = node.details.get("heads"), node.details.get("head_size")
    if node.operation == "attention" and isinstance(heads, int):
        each = count_text(heads, "1 head", "{0} heads")
        told = f"{each} of {size} features" if isinstance(size, int) else each
        shared = node.details.get("key_value_heads")
        if isinstance(shared, int) and shared != heads:
            told += f" and {count_text(shared, '1 key/value head', '{0} key/value heads')}"
        return f"outputs of {told}, side by side"
    name = (node.path or "").rpartition(".")[2] if node.kind == "module" else node.name
    if node.operation in ("linear", "embedding", "convolution") or node.kind == "module":
        return f"output of “{name}”"
    return _MEANINGS.get(node.operation or "", node.operation or "result")
