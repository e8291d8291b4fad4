"""Writes steps as mathematics, and explains the symbols that come up in a legend."""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.formula import Term, quoted, sized
from bertviewer.core.formulas.module_view import ModuleView, reads_first
from bertviewer.core.formulas.steps.expression import (
    ATOM,
    FACTOR,
    Expression,
    operation,
    plain_maths,
)
from bertviewer.core.formulas.steps.loops import AT
from bertviewer.core.formulas.steps.naming import TOKEN_IDS, Names, input_meaning, numbered_part
from bertviewer.core.graph.module_graph import FIRST, ModuleGraph, Step
from bertviewer.core.schema.flow import Node, Operand
from bertviewer.core.util.numbers import count_text

_LENGTHS = ("S", "S_d")


class Legend(Struct):
    """Terms by their symbols, in order of first use.

    With ``from_template``, sizes are shown for vectors too, but only where a symbol is first used,
    and not in the arguments of a call.
    """

    view: ModuleView
    from_template: bool
    terms: dict[str, Term] = field(default_factory=dict)
    is_in_call: bool = False
    _sized: set[str] = field(default_factory=set)

    @property
    def shows_sizes(self) -> bool:
        """Whether sizes of weights are shown."""
        return self.from_template and not self.is_in_call

    def add(self, symbol: str, meaning: str, value: str | None = None) -> None:
        """Add a term, once."""
        self.add_terms(Term(symbol, meaning, value))

    def add_terms(self, *terms: Term) -> None:
        """Add terms, once; different values of equal symbols are joined."""
        for term in terms:
            known = self.terms.setdefault(term.symbol, term)
            if known.value and term.value and term.value not in known.value:
                both = f"{known.value} or {term.value}"
                self.terms[term.symbol] = replace(known, value=both)

    def add_value(self, symbol: str, meaning: str, node: Node) -> None:
        """Add the term of a node's result."""
        sizes = self._sizes(node)
        self.add(symbol, meaning, shape_text(sizes) if sizes else None)

    def add_tensor(self, symbol: str, what: str, name: str) -> None:
        """Add the term of a tensor."""
        found = self.view.tensor(name)
        holder = self.relative_path(name.removesuffix(".weight").removesuffix(".bias"))
        shape = None if found is None else shape_text(found.shape)
        self.add(symbol, f"{what} of “{holder}”", shape)

    def add_module(self, symbol: str, path: str, what: str = "") -> None:
        """Add the term of a module that is called."""
        found = self.view.architecture.module(path)
        if found is None:
            return self.add(symbol, f"{what}a separate module")
        count = count_text(found.parameters, "1 parameter", "{0} parameters")
        return self.add(symbol, f"{what}{found.class_name}", count)

    def parameter(self, name: str) -> str:
        """Return the symbol of a parameter, and add its term."""
        *_, holder, last = ("", *name.split("."))
        symbol = f"W_{quoted(holder)}" if last == "weight" and holder else quoted(last)
        self.add_tensor(symbol, "parameter", name)
        return symbol

    def relative_path(self, path: str) -> str:
        """Return a path relative to the formula's module."""
        own = self.view.node.path
        found = path.removeprefix(f"{own}.") if own else path
        return found if found != own else path.rpartition(".")[2]

    def sized(self, symbol: str, node: Node) -> str:
        """Return a symbol with its sizes below it, if they are shown."""
        is_known = self.from_template and symbol in self._sized
        self._sized.add(symbol)
        if self.is_in_call or is_known:
            return symbol
        *before, last = self._sizes(node) or ("",)
        is_row = len(before) == 1 and before[0] in _LENGTHS
        is_shown = is_row or (self.from_template and len(before) < 2)
        return sized(symbol, *before, last) if is_shown and isinstance(last, int) else symbol

    def _sizes(self, node: Node) -> tuple[int | str, ...]:
        """Return the sizes without the batch, lengths as symbols and widths as numbers."""
        shape, lengths = node.shape, self.view.flows.lengths
        if node.symbolic_shape is not None:
            both = zip(node.symbolic_shape, shape, strict=True)
            return tuple(name if name in _LENGTHS else n for name, n in both if name != "B")
        letters = {lengths[name]: name for name in reversed(_LENGTHS) if name in lengths}
        named = [letters.get(size, size) for size in shape]
        is_batch = shape[:1] == (lengths.get("B", 1),)
        if node.kind == "parameter":
            return shape
        if len(shape) > 2:
            return (named[1], *shape[2:]) if is_batch else shape
        if len(shape) == 2 and is_batch and shape[0] not in letters:
            return (named[1],)
        return (*named[:1], *shape[1:])


WriteOperand = Callable[[Operand], Expression]
"""Writes an operand."""

WriteStep = Callable[["Writer", Step, WriteOperand], Expression]
"""Writes a step, its operands by ``WriteOperand``."""

StepWriters = Mapping[str, WriteStep]

CLOSED = "closed module"
MASK = "mask: 0 at visible positions, −∞ at masked ones"
_FIRST = re.compile(r"part \[:, 0(, :)?\]")
_ROLES = {"mask": "M", "bias": "B"}
_NO_SPECIAL: StepWriters = {}


class Writer(Struct):
    """Writes the steps of one module's graph.

    Attributes:
        graph: the graph.
        names: the symbols.
        legend: the terms so far.
        operations: functions that write steps, by operation or ``CLOSED``.
        definitions: lines that define functions, by the function.
    """

    graph: ModuleGraph
    names: Names
    legend: Legend
    operations: StepWriters
    definitions: dict[str, str] = field(default_factory=dict)
    _clauses: dict[str, str] = field(default_factory=dict)

    @property
    def view(self) -> ModuleView:
        """The module."""
        return self.legend.view

    def step(
        self, step: Step, of: WriteOperand | None = None, special: StepWriters = _NO_SPECIAL
    ) -> Expression:
        """Return what a step computes; ``of`` writes its operands, by default ``self.of``."""
        word = step.operation
        write = special.get(word) or self.operations.get(word)
        # A module of one operation is a call, but within a group it is the operation.
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
        elif word == "__setitem__":
            self.legend.add(
                'op("set")', "the first tensor, with that part replaced by the last one"
            )
        named = [(each.key, of(each).text) for each in step.operands if each.key]
        return operation(word, operands, named)

    def group(
        self, inner: Sequence[Step], outer: WriteOperand, special: StepWriters = _NO_SPECIAL
    ) -> Expression:
        """Return the last step of a group as one expression; ``outer`` writes outer operands."""
        by_id = {each.node.id: each for each in inner}

        def of(operand: Operand) -> Expression:
            step = by_id.get(operand.node)
            if step is None:
                return outer(operand)
            if not (split := self.names.splits.get(operand.node)):
                return self.with_parts(operand, self.step(step, of, special))
            if (symbols := self.split_symbols(split)) not in self._clauses:
                self._clauses[symbols] = self.step(step, of, special).text
            return Expression(self.names.symbols[operand.node, operand.parts])

        return self.step(inner[-1], of, special)

    def split_symbols(self, symbols: Sequence[str], whole: str = "one product") -> str:
        """Return the symbols of adjacent parts as the left side of a line, and add their term."""
        listed = ", ".join(symbols)
        is_gate = set(symbols) == {"G", "U"}
        meaning = "gate G and gated features U, " if is_gate else ""
        self.legend.add(listed, f"{meaning}adjacent parts of {whole}")
        return f"({listed})"

    def take_clauses(self) -> str:
        """Return the definitions of new parts, for the end of a line."""
        clauses, self._clauses = self._clauses, {}
        return "".join(f", quad {symbols} = {maths}" for symbols, maths in clauses.items())

    def of(self, operand: Operand) -> Expression:
        """Return an operand of the graph's steps."""
        if operand.parameter:
            return Expression(self.legend.parameter(operand.parameter))
        if operand.plain:
            return Expression(plain_maths(operand.plain))
        node, parts = operand.node, operand.parts
        for count in range(len(parts), -1, -1):
            if symbol := self.names.symbols.get((node, parts[:count])):
                if not count and (row := self._first_row(operand, symbol)):
                    return Expression(row)
                whole = Expression(self._given(node, symbol))
                return self.with_parts(replace(operand, parts=parts[count:]), whole)
        step = self.graph.maker(operand)
        if step is not None:
            return self.with_parts(operand, self.step(step))
        if operand.role:
            return Expression(_ROLES.get(operand.role, "kappa"))
        self.legend.add("kappa", "constants of the code, which do not depend on the text")
        return Expression("kappa")

    def with_parts(self, operand: Operand, whole: Expression) -> Expression:
        """Return the parts of a value that an operand reads."""
        inner, shown = whole.within(ATOM), []
        for part in operand.parts:
            if part.startswith(AT):
                if operand.node in self.names.line_nodes:
                    inner = at_iteration(inner, part.removeprefix(AT))
            elif part.startswith("unfold"):
                self.legend.add('op("windows")', "each position with its neighbours")
                inner = f'op("windows")({inner})'
            elif number := numbered_part(part):
                is_raised = "^" in inner and not inner.startswith("(")
                inner = f"({inner})^(({number[0]}))" if is_raised else f"{inner}^(({number[0]}))"
                self.legend.add(inner, "part {} of {}".format(*number))
            else:
                shown.append(quoted(part.removeprefix("part ")))
        if inner == whole.within(ATOM) and not shown:
            return whole
        return Expression(" thin ".join((inner, *shown)), FACTOR if shown else ATOM)

    def arguments(self, step: Step, of: WriteOperand) -> tuple[str, ...]:
        """Return the tensors that a call reads, each once.

        In templates without masks, and only with the positions that are read.
        """
        legend, path = self.legend, step.node.path
        read = [each for each in step.tensors if not self._is_omitted(each)]
        child = legend.view.at(path) if legend.from_template and path else None
        if child is not None and len(step.tensors) == 1 and reads_first(child):
            read = [Operand(step.tensors[0].node, (FIRST,))]
        before, legend.is_in_call = legend.is_in_call, True
        found = tuple(dict.fromkeys(of(each).text for each in read or [Operand()]))
        legend.is_in_call = before
        if not read and found == ("kappa",) and legend.from_template:
            legend.add("t", TOKEN_IDS)
            return ("t",)  # padded or shifted first
        return found

    def _is_omitted(self, operand: Operand) -> bool:
        given = self.graph.given.get(operand.node)
        if given is None or not self.legend.from_template:
            return False
        return given.kind != "input" or any(it in given.name for it in ("mask", "position ids"))

    def _first_row(self, operand: Operand, whole: str) -> str:
        """Return the symbol of the first position in a template, "" for other parts."""
        step, node = self.graph.maker(operand), self.graph.given.get(operand.node)
        node = step.node if step is not None else node
        is_first = len(operand.parts) == 1 and _FIRST.fullmatch(operand.parts[0])
        if not is_first or not self.legend.from_template or node is None or len(node.shape) != 3:
            return ""
        self._given(operand.node, whole)
        row = f"{whole.partition('_')[0].lower()}_0"
        node = replace(node, shape=(node.shape[0], node.shape[-1]), symbolic_shape=None)
        self.legend.add_value(row, f"row of {whole} of the first position", node)
        return self.legend.sized(row, node)

    def _given(self, node: str, symbol: str) -> str:
        """Return a symbol, with its term and sizes if it is an input or constant."""
        given = self.graph.given.get(node)
        if given is None:
            return symbol
        self.legend.add_value(symbol, _meaning(given, symbol), given)
        return self.legend.sized(symbol, given) if self.legend.from_template else symbol


def _meaning(given: Node, symbol: str) -> str:
    if given.name == "sines and cosines":
        return "sines and cosines of the positions: fixed, not learnt"
    if known := input_meaning(given, symbol):
        return known
    usual = "depends only on masks or positions" if given.kind == "constant" else given.kind
    meaning = MASK if symbol.startswith("M") else usual
    return meaning if quoted(given.name) == symbol else f"{meaning}: {given.name}"


def at_iteration(symbol: str, index: str) -> str:
    """Return the symbol of a value in one iteration of a loop."""
    letter, _, below = symbol.partition("_")
    return f"{letter}_({below}, {index})" if below else f"{letter}_({index})"
