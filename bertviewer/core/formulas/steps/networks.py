"""Feed-forward networks, as functions of one vector x."""

from dataclasses import dataclass, field

from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.steps.expression import Expression, call
from bertviewer.core.formulas.steps.values import Values
from bertviewer.core.formulas.steps.words import of_word

_KINDS = ("feed-forward", "gated feed-forward")
_INDICES = {2: ("1", "2"), 3: ("G", "U", "D")}
"""Subscripts of the weights of a plain network and of a gated one, by the number of layers."""


@dataclass(slots=True)
class Networks:
    """The feed-forward networks of one formula, each defined in a separate line."""

    values: Values
    lines: dict[str, str] = field(default_factory=dict)

    def of(self, step: Step) -> Expression:
        """Return a network of what goes into it."""
        every = [each for each in self.values.steps.steps if each.node.operation in _KINDS]
        states = self.values.first(step)
        number = every.index(step) + 1 if len(every) > 1 else None
        if len(self.values.steps.steps) == 1:
            return self._maths(step, states, number)
        function = 'op("FFN")' if number is None else f'op("FFN"_{number})'
        maths = self._maths(step, Expression("x"), number)
        self.lines.setdefault(function, f"{function}(x) = {maths.text}")
        return call(function, states.text)

    def _maths(self, step: Step, states: Expression, number: int | None) -> Expression:
        inner = step.inner
        indices = self._indices(inner, number)
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

    def _indices(self, inner: tuple[Step, ...], number: int | None) -> dict[str, str]:
        """Return the subscripts of a network's weights; ``number`` tells several apart."""
        linear = [each for each in inner if each.node.operation == "linear"]
        if len(linear) == 3:  # the gate is what the activation is applied to
            gated = {
                o.node for it in inner if it.node.operation == "activation" for o in it.tensors
            }
            linear[:2] = sorted(linear[:2], key=lambda it: it.node.id not in gated)
        known = _INDICES.get(len(linear)) or tuple(str(n + 1) for n in range(len(linear)))
        return {
            each.node.id: index if number is None else f"({index}, {number})"
            for each, index in zip(linear, known, strict=True)
        }

    def _of(self, step: Step, operands: list[Expression], indices: dict[str, str]) -> Expression:
        node = step.node
        if node.operation == "linear":
            return self.values.weights.linear(step, operands[0], indices[node.id])
        if node.operation == "activation":
            return call(self.values.activation(step), operands[0].text)
        if node.operation == "mul":
            self.values.legend.add("dot.o", "element-wise product")
        return of_word(node.operation or node.name, operands, ())
