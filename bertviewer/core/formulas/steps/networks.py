"""Feed-forward networks, as functions of one vector x."""

from dataclasses import dataclass, field

from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.formulas.steps.expression import Expression, call
from bertviewer.core.formulas.steps.naming import shortest, weight_path
from bertviewer.core.formulas.steps.values import Values
from bertviewer.core.formulas.steps.words import of_word

_KINDS = ("feed-forward", "gated feed-forward")
_INDICES = {2: ("1", "2"), 3: ("G", "U", "D")}
"""What stands below the weights of a plain network's layers, and of a gated one's."""


@dataclass(slots=True)
class Networks:
    """The networks of one formula, each defined in a line of its own."""

    values: Values
    lines: dict[str, str] = field(default_factory=dict)

    def of(self, step: Step) -> Expression:
        """Return a network of what goes into it."""
        every = [each for each in self.values.steps.steps if each.node.operation in _KINDS]
        states = self.values.first(step)
        if len(self.values.steps.steps) == 1:
            return self._maths(step, states, alone=True)
        short = shortest(tuple(dict.fromkeys(each.node.path or "" for each in every)))
        name = quoted(short[step.node.path or ""])
        function = f'op("FFN"_{name})' if len(every) > 1 else 'op("FFN")'
        alone = len(every) == 1
        maths = self._maths(step, Expression("x"), alone=alone)
        self.lines.setdefault(function, f"{function}(x) = {maths.text}")
        return call(function, states.text)

    def _maths(self, step: Step, states: Expression, *, alone: bool) -> Expression:
        inner = step.inner
        indices = self._indices(inner, alone=alone)
        inside = {each.node.id for each in inner}
        found: dict[str, Expression] = {}
        for each in inner:
            operands = [
                self.values.part(o, found[o.node]) if o.node in inside else states
                for o in each.operands
                if o.is_tensor and not o.parameter
            ]
            found[each.node.id] = self._of(each, operands or [states], indices)
        return found[inner[-1].node.id]

    def _indices(self, inner: tuple[Step, ...], *, alone: bool) -> dict[str, str]:
        linear = [each for each in inner if each.node.operation == "linear"]
        known = _INDICES.get(len(linear), ()) if alone else ()
        if known:
            order = linear
            if len(linear) == 3:  # the gate is what goes through the activation
                bent = {
                    o.node for it in inner if it.node.operation == "activation" for o in it.tensors
                }
                order = sorted(linear[:2], key=lambda it: it.node.id not in bent) + linear[2:]
            return {each.node.id: index for each, index in zip(order, known, strict=True)}
        paths = {each.node.id: weight_path(each) or each.node.id for each in linear}
        every = [path for step in self.values.steps.steps for path in _paths(step)]
        short = shortest(tuple(dict.fromkeys([*every, *paths.values()])))
        return {node: quoted(short[path]) for node, path in paths.items()}

    def _of(self, step: Step, operands: list[Expression], indices: dict[str, str]) -> Expression:
        node = step.node
        if node.operation == "linear":
            return self.values.weights.linear(step, operands[0], indices[node.id])
        if node.operation == "activation":
            return call(self.values.activation(step), operands[0].text)
        if node.operation == "mul":
            self.values.legend.add("dot.o", "element-wise product")
        return of_word(node.operation or node.name, operands, ())


def _paths(step: Step) -> list[str]:
    """Return the paths of all linear layers in a step."""
    inner = step.inner if step.node.operation in _KINDS else (step,)
    return [path for each in inner if (path := weight_path(each)) is not None]
