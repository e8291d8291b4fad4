"""Writes a flow's steps as lines of mathematics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bertviewer.core.architecture.flow import Node
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.formulas.steps.attention import ROOT
from bertviewer.core.formulas.steps.expressions import Expressions, list_of
from bertviewer.core.formulas.steps.naming import RESULTS
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
        results = self.say.steps.results
        is_all_given = not self.say.steps.steps
        several = self.say.names.several() or (len(results) > 1 and is_all_given)
        for place, (node, operand) in enumerate(results):
            if operand.parts or not self._is_result(operand.node):
                name = f"Y_{place}" if several else "Y"
                target = self.say.shapes.sized(name, node)
                yield f"{target} = {self.say.values.of(operand).text}"
                self.say.values.explain(name, "output", node)
        yield from self.say.networks.lines.values()
        yield from self.say.definitions.values()

    def _is_result(self, node: str) -> bool:
        return self.say.names.places.get((node, ()), "").startswith(RESULTS)

    def _lines_of(self, step: Step) -> Iterator[str]:
        node, symbol = step.node, self.say.names.symbol(step.node.id)
        if node.repeat is not None:
            yield from self._stack(step, symbol)
            return
        maths = self.say.expression(step).text
        if parts := self.say.names.parts_of(node.id):
            target = f"({', '.join(parts)})"
            self.say.legend.add(", ".join(parts), "adjacent parts of one product")
        else:
            shown = next((n for n, o in self.say.steps.results if o.node == node.id), node)
            shown = shown if self._is_result(node.id) else node
            chosen = node.details.get("chosen")
            if node.operation == "routing" and isinstance(chosen, int):
                # The node's shape may be that of the scores, one for each expert.
                shown = replace(shown, shape=(*shown.shape[:-1], chosen))
            target = self.say.shapes.sized(symbol, shown)
            target = f"(g, {symbol})" if node.operation == "routing" else target
            if node.id in self.rounds:
                target = symbol = at_round(symbol, "t")
            self.say.values.explain(symbol, _meaning(node), shown)
        more = ""
        if node.operation == "attention" and ROOT in maths:
            more = f", quad d_k = {node.details.get('head_size')}"
        rounds = self.rounds.get(node.id)
        if rounds is not None and rounds not in self._loops:
            self._loops.add(rounds)
            more = f", quad t = 0, dots, {rounds - 1}"
            self.say.legend.add(
                "t", "loop iteration; before the first, the value is the initial one"
            )
        yield f"{target} = {maths}{more}"

    def _stack(self, step: Step, symbol: str) -> Iterator[str]:
        """Yield the lines of equal layers, one after the other."""
        node, repeat = step.node, step.node.repeat
        assert repeat is not None
        first, *others = self.say.values.arguments(step)
        function = quoted(list_of(node) or node.name)
        more = "".join(f", {each}" for each in others)
        is_result = symbol.startswith("Y")
        base = self.say.names.stacks[node.id]
        last = f"{base}_{repeat.last + 1}"
        yield f"{base}_{repeat.first} = {first}"
        yield (
            f"{base}_(i+1) = {function}_i ({base}_i{more}), quad "
            f"i = {repeat.first}, dots, {repeat.last}"
        )
        if is_result:
            yield f"{self.say.shapes.sized(symbol, node)} = {last}"
        else:
            self.say.names.places[node.id, ()] = last
        self.say.legend.add(
            f"{function}_i", f"layer i, {node.class_name}", self.say.parameters(node)
        )
        self.say.values.explain(f"{base}_i", "input of layer i", node)


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
