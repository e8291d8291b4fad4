"""How a value is written where another step reads it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.notation import number_maths, quoted
from bertviewer.core.formulas.steps.expression import ATOM, PRODUCT, Expression, Legend
from bertviewer.core.formulas.steps.loops import AT
from bertviewer.core.formulas.steps.naming import Names, input_symbol
from bertviewer.core.formulas.steps.shapes import Shapes
from bertviewer.core.formulas.steps.weights import Weights
from bertviewer.core.formulas.steps.words import of_word
from bertviewer.core.formulas.templates.activation import activation_term, operator_of

_GIVEN = {"input": "input", "parameter": "parameter"}
_INPUTS = {
    "t": "token ids",
    "u": "token ids of the target so far, shifted by one position",
    "g": "segment ids",
    "I": "the image: channels, height, width",
    "F": "spectrogram of the sound: frequency bands, time steps",
    "a": "samples of the sound",
    'X_"enc"': "the encoder’s output",
}
_FIRST = re.compile(r"part \[:, 0(, :)?\]")
MASK = "mask: 0 at visible positions, −∞ at masked ones"
_ROLES = {"mask": "M", "bias": "B"}
_LONG = 60
_CLOSE = 1e-5


@dataclass(slots=True)
class Values:
    """Writes operands: by their symbol, or by what makes them where they have none.

    ``inside`` writes a step that stands inside another one's line; ``shown`` has the symbols whose
    sizes are already written.
    """

    steps: ModuleGraph
    names: Names
    legend: Legend
    weights: Weights
    shapes: Shapes
    inside: Callable[[Step], Expression]
    shown: set[str] = field(default_factory=set)

    def of(self, operand: Operand) -> Expression:
        """Return an operand, numbers and words too."""
        if operand.node:
            return self._of_node(operand)
        if operand.parameter:
            return Expression(self.weights.parameter(operand.parameter))
        if operand.role:
            return Expression(_ROLES.get(operand.role, "c"))
        if operand.plain:
            return Expression(plain_maths(operand.plain))
        self.legend.add("c", "constants of the code, which do not depend on the text")
        return Expression("c")

    def sized(self, symbol: str, node: Node) -> str:
        """Return a symbol with its sizes below it, if it is one vector for each position.

        A template's formula has vectors with sizes too, and sizes at the first place only.
        """
        teaches = self.names.naming.teaches
        if teaches and symbol in self.shown:
            return symbol
        self.shown.add(symbol)
        return self.shapes.sized(symbol, node, vectors=teaches)

    def first(self, step: Step) -> Expression:
        """Return the first tensor that a step reads."""
        return self.of(next((each for each in step.operands if each.is_tensor), Operand()))

    def arguments(self, step: Step) -> tuple[str, ...]:
        """Return the tensors that a step reads, each once; a template leaves masks out."""
        read = [each for each in step.tensors if not self._is_left_out(step, each)]
        found = tuple(dict.fromkeys(self.of(each).text for each in read))
        if not found and self.names.naming.teaches:  # what it reads is padded or shifted first
            self.legend.add("t", _INPUTS["t"])
            return ("t",)
        return found or ("c",)

    def _is_left_out(self, step: Step, operand: Operand) -> bool:
        given = self.steps.given.get(operand.node)
        if given is None or not self.names.naming.teaches:
            return False
        names = ("mask", "position ids")
        return given.kind != "input" or any(name in given.name for name in names)

    def put_together(self, inner: Sequence[Step], last: Step) -> Expression:
        """Return a step of a group with all that leads to it within the group."""
        by_id = {each.node.id: each for each in inner}

        def written(operand: Operand) -> Expression:
            if operand.node not in by_id:
                return self.of(operand)
            return self.part(operand, self.put_together(inner, by_id[operand.node]))

        word = last.node.operation or last.node.name
        operands = [written(each) for each in last.operands if not each.key]
        named = [(each.key, written(each).text) for each in last.operands if each.key]
        if word == "activation":
            return self.inside(last) if not operands else of_word(last.node.name, operands, ())
        return of_word(word, operands, named)

    def part(self, operand: Operand, whole: Expression) -> Expression:
        """Return what is taken of a value."""
        if not operand.parts:
            return whole
        inner, told = whole.within(ATOM), []
        for part in operand.parts:
            if part.startswith(AT):
                if operand.node in self.names.own:
                    inner = at_round(inner, part.removeprefix(AT))
                continue
            words = part.split(" ")
            if words[0] == "part":
                told.append(quoted(part.removeprefix("part ")))
            elif len(words) == 4 and words[1].isdecimal():  # chunk 0 of 2
                inner = self._counted(inner, words)
            else:
                told.append(quoted(part))
        if inner == whole.within(ATOM) and not told:
            return whole
        return Expression(" thin ".join((inner, *told)), PRODUCT if told else ATOM)

    def _counted(self, whole: str, words: Sequence[str]) -> str:
        """Return a part by its number among those that lie side by side."""
        what, number, _, count = words
        if what == "unfold":
            self.legend.add('op("windows")', "each position with its neighbours")
            return f'op("windows")({whole})'
        is_raised = "^" in whole and not whole.startswith("(")
        found = f"({whole})^(({number}))" if is_raised else f"{whole}^(({number}))"
        if len(found) < _LONG:
            self.legend.add(found, f"part {number} of {count}")
        return found

    def activation(self, step: Step) -> str:
        """Return the operator of an activation, and explain it."""
        symbol = operator_of(step)
        self.legend.put(activation_term(step))
        return symbol

    def operation_of(self, node: str) -> str | None:
        """Return what a node computes, ``None`` for what is given."""
        return next((s.node.operation for s in self.steps.steps if s.node.id == node), None)

    def explain(self, symbol: str, meaning: str, node: Node) -> None:
        """Explain a value, with its shape."""
        self.legend.add(symbol, meaning, self.shapes.text(node))

    def _of_node(self, operand: Operand) -> Expression:
        places = self.names.places
        known = places.get((operand.node, operand.parts))
        if known is not None:
            return Expression(self._explain_given(operand.node, known))
        whole = places.get((operand.node, ()))
        if whole is not None and (row := self._first_row(operand, whole)):
            return Expression(row)
        if whole is not None:
            return self.part(operand, Expression(self._explain_given(operand.node, whole)))
        step = next((it for it in self.steps.steps if it.node.id == operand.node), None)
        if step is None:
            return self.of(Operand())
        return self.part(operand, self.inside(step))

    def _first_row(self, operand: Operand, whole: str) -> str:
        """Return the symbol of the row of the first position in a template, "" for other parts."""
        step, node = self.steps.by_id.get(operand.node), self.steps.given.get(operand.node)
        node = step.node if step is not None else node
        is_first = len(operand.parts) == 1 and _FIRST.fullmatch(operand.parts[0])
        if not is_first or not self.names.naming.teaches or node is None or len(node.shape) != 3:
            return ""
        self._explain_given(operand.node, whole)
        row = f"{whole.partition('_')[0].lower()}_0"
        node = replace(node, shape=(node.shape[0], node.shape[-1]), symbolic_shape=None)
        self.explain(row, f"row of {whole} of the first position", node)
        return self.sized(row, node)

    def _explain_given(self, node: str, symbol: str) -> str:
        """Return the symbol of a value, of an input with its sizes where a template has them."""
        given = self.steps.given.get(node)
        if given is None:
            return symbol
        is_data = input_symbol(given.name) == symbol or symbol == 'X_"enc"'
        meaning = _INPUTS.get(symbol) if given.kind == "input" and is_data else None
        if given.name == "sines and cosines":
            meaning = "sines and cosines of the positions: fixed, not learnt"
        if meaning is None:
            meaning = _GIVEN.get(given.kind, "depends only on masks or positions")
            meaning = MASK if symbol.startswith("M") else meaning
            meaning += "" if quoted(given.name) == symbol else f": {given.name}"
        self.explain(symbol, meaning, given)
        return self.sized(symbol, given) if self.names.naming.teaches else symbol


def at_round(symbol: str, index: str) -> str:
    """Return the symbol of a value in one round of a loop."""
    letter, _, below = symbol.partition("_")
    return f"{letter}_({below}, {index})" if below else f"{letter}_({index})"


def plain_maths(text: str) -> str:
    """Return a number or a word of the code as mathematics."""
    try:
        number = float(text)
    except ValueError:
        return quoted(text)
    if abs(number) == float("inf"):
        return "oo" if number > 0 else "-oo"
    square = round(number * number)
    if number > 1 and number != round(number) and abs(number * number - square) < _CLOSE:
        return f"sqrt({square})"
    return number_maths(number) if number >= 0 else f"-{number_maths(-number)}"
