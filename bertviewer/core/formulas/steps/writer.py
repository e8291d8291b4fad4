"""Writes steps as mathematics: each operand by its symbol, or by what computes it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.formulas.notation import quoted
from bertviewer.core.formulas.steps.expression import (
    ATOM,
    PRODUCT,
    Expression,
    operation,
    plain_maths,
)
from bertviewer.core.formulas.steps.legend import Legend
from bertviewer.core.formulas.steps.loops import AT
from bertviewer.core.formulas.steps.naming import TOKEN_IDS, Names, input_meaning
from bertviewer.core.graph.module_graph import ModuleGraph, Step

Of = Callable[[Operand], Expression]
"""How operands are written."""
Write = Callable[["Writer", Step, Of], Expression]
"""How a step is written, its operands by ``Of``."""

CLOSED = "closed module"
MASK = "mask: 0 at visible positions, −∞ at masked ones"
_FIRST = re.compile(r"part \[:, 0(, :)?\]")
_ROLES = {"mask": "M", "bias": "B"}
_LONG = 60
"""A longer expression needs no explanation of what a part of it is."""
_USUAL: Mapping[str, Write] = {}


@dataclass(slots=True)
class Writer:
    """Writes the steps of one module's graph.

    Attributes:
        graph: the graph.
        names: the symbols.
        legend: what they mean; it grows with what is written.
        operations: how steps are written by their operation, or ``CLOSED``.
        definitions: lines that define functions, by the function.
    """

    graph: ModuleGraph
    names: Names
    legend: Legend
    operations: Mapping[str, Write]
    definitions: dict[str, str] = field(default_factory=dict)

    def step(
        self, step: Step, of: Of | None = None, special: Mapping[str, Write] = _USUAL
    ) -> Expression:
        """Return what a step computes.

        Args:
            step: the step.
            of: how its operands are written, if not as those of the graph.
            special: operations that are written in another way than usual.
        """
        word = step.operation
        write = special.get(word) or self.operations.get(word)
        # A module of one operation is closed, and within a group that operation.
        is_closed = step.node.kind == "module" and "operands" not in step.node.details
        if write is None and is_closed and not (word and of):
            write = self.operations[CLOSED]
        of = of or self.of
        if write is not None:
            return write(self, step, of)
        word = word or step.node.name
        operands = [of(each) for each in step.operands if not each.key]
        if word == "mul" and len(operands) == 2:
            self.legend.add("dot.o", "element-wise product")
        named = [(each.key, of(each).text) for each in step.operands if each.key]
        return operation(word, operands, named)

    def group(
        self, inner: Sequence[Step], outer: Of, special: Mapping[str, Write] = _USUAL
    ) -> Expression:
        """Return the last of a group's steps with all that leads to it.

        Args:
            inner: the steps in the group.
            outer: how operands that none of them computes are written.
            special: operations that are written in another way than usual.
        """
        by_id = {each.node.id: each for each in inner}

        def of(operand: Operand) -> Expression:
            step = by_id.get(operand.node)
            if step is None:
                return outer(operand)
            return self.part(operand, self.step(step, of, special))

        return self.step(inner[-1], of, special)

    def of(self, operand: Operand) -> Expression:
        """Return an operand of the graph's steps, numbers and words too."""
        if operand.parameter:
            return Expression(self.legend.parameter(operand.parameter))
        if operand.plain:
            return Expression(plain_maths(operand.plain))
        known = self.names.places.get((operand.node, operand.parts))
        if known is not None:
            return Expression(self._given(operand.node, known))
        whole = self.names.places.get((operand.node, ()))
        if whole is not None:
            row = self._first_row(operand, whole)
            named = Expression(row or self._given(operand.node, whole))
            return named if row else self.part(operand, named)
        step = self.graph.maker(operand)
        if step is not None:
            return self.part(operand, self.step(step))
        if operand.role:
            return Expression(_ROLES.get(operand.role, "c"))
        self.legend.add("c", "constants of the code, which do not depend on the text")
        return Expression("c")

    def part(self, operand: Operand, whole: Expression) -> Expression:
        """Return what is taken of a value."""
        inner, shown = whole.within(ATOM), []
        for part in operand.parts:
            kind, *words = part.split(" ")
            if part.startswith(AT):
                inner = at_round(inner, words[0]) if operand.node in self.names.own else inner
            elif len(words) == 3 and words[0].isdecimal():  # chunk 0 of 2
                inner = self._numbered(inner, kind, words[0], words[2])
            else:
                shown.append(quoted(part.removeprefix("part ")))
        if inner == whole.within(ATOM) and not shown:
            return whole
        return Expression(" thin ".join((inner, *shown)), PRODUCT if shown else ATOM)

    def _numbered(self, whole: str, kind: str, number: str, count: str) -> str:
        """Return one of several adjacent parts."""
        if kind == "unfold":
            self.legend.add('op("windows")', "each position with its neighbours")
            return f'op("windows")({whole})'
        is_raised = "^" in whole and not whole.startswith("(")
        found = f"({whole})^(({number}))" if is_raised else f"{whole}^(({number}))"
        if len(found) < _LONG:
            self.legend.add(found, f"part {number} of {count}")
        return found

    def arguments(self, step: Step, of: Of) -> tuple[str, ...]:
        """Return the tensors that a step reads, each once; a template leaves masks out."""
        read = [each for each in step.tensors if not self._is_left_out(each)]
        found = tuple(dict.fromkeys(of(each).text for each in read or [Operand()]))
        if not read and found == ("c",) and self.legend.teaches:
            self.legend.add("t", TOKEN_IDS)
            return ("t",)  # they are padded or shifted first
        return found

    def _is_left_out(self, operand: Operand) -> bool:
        given = self.graph.given.get(operand.node)
        if given is None or not self.legend.teaches:
            return False
        return given.kind != "input" or any(it in given.name for it in ("mask", "position ids"))

    def _first_row(self, operand: Operand, whole: str) -> str:
        """Return the symbol of the row of the first position in a template, "" for other parts."""
        step, node = self.graph.maker(operand), self.graph.given.get(operand.node)
        node = step.node if step is not None else node
        is_first = len(operand.parts) == 1 and _FIRST.fullmatch(operand.parts[0])
        if not is_first or not self.legend.teaches or node is None or len(node.shape) != 3:
            return ""
        self._given(operand.node, whole)
        row = f"{whole.partition('_')[0].lower()}_0"
        node = replace(node, shape=(node.shape[0], node.shape[-1]), symbolic_shape=None)
        self.legend.value(row, f"row of {whole} of the first position", node)
        return self.legend.sized(row, node)

    def _given(self, node: str, symbol: str) -> str:
        """Return a symbol; that of an input or constant is explained, in templates with sizes."""
        given = self.graph.given.get(node)
        if given is None:
            return symbol
        self.legend.value(symbol, _meaning(given, symbol), given)
        return self.legend.sized(symbol, given) if self.legend.teaches else symbol


def _meaning(given: Node, symbol: str) -> str:
    if given.name == "sines and cosines":
        return "sines and cosines of the positions: fixed, not learnt"
    if known := input_meaning(given, symbol):
        return known
    usual = "depends only on masks or positions" if given.kind == "constant" else given.kind
    meaning = MASK if symbol.startswith("M") else usual
    return meaning if quoted(given.name) == symbol else f"{meaning}: {given.name}"


def at_round(symbol: str, index: str) -> str:
    """Return the symbol of a value in one round of a loop."""
    letter, _, below = symbol.partition("_")
    return f"{letter}_({below}, {index})" if below else f"{letter}_({index})"
