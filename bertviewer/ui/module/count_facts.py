"""What a module counts and costs: formulas in three lines, their symbols, memory by dtype."""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QCheckBox, QWidget

from bertviewer.core.analysis.costs import HeadCost, head_cost, part_costs
from bertviewer.core.expressions.evaluation import FormulaError, evaluate, names_in
from bertviewer.core.expressions.polynomials import Relation, relations, substituted
from bertviewer.core.expressions.symbols import Symbol, shape_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.costs import FLOPS_PER_MAC
from bertviewer.core.schema.count_steps import count_steps, readable
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.report.costs import (
    cost_of,
    kv_cache_text,
    memory_sizes,
    peak_text,
    sentence_text,
    size_text,
    why_no_formula,
)
from bertviewer.ui.module.count_view import CountView
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import Link, links
from bertviewer.ui.what_if.texts import domain_text
from bertviewer.ui.widgets.facts import Fact, FactGroup
from bertviewer.ui.widgets.layouts import named

TICK = "✓"
MOST_PARTS = 6
"""So many of the most expensive parts are listed."""


class CountFacts(QObject):
    """Writes the groups of the overview that are about counts and costs.

    ``changed`` is called when the user wants a formula written in another way; ``tab`` is where
    all is shown.
    """

    def __init__(self, workspace: Workspace, changed: Callable[[], None], tab: QWidget) -> None:
        super().__init__(tab)
        self._tab = tab
        self._workspace = workspace
        self._changed = changed

    def groups(self, row: TreeRow, architecture: Architecture) -> Iterator[FactGroup]:
        """Yield what is known about a module's numbers, of one layer where a row stands for all."""
        node, of_each = row.node, self.tr(", per layer") if row.is_folded else ""
        count = list(self._count(row, architecture))
        yield FactGroup(self.tr("Parameter count") + of_each, count)
        values = bindings(architecture, self._workspace.runs.run)
        shapes = list(self._shapes(node, architecture, values))
        yield FactGroup(self.tr("Shapes"), shapes)
        lines = list(self._costs(node, architecture, values))
        yield FactGroup(self._costs_heading(architecture, values) + of_each, lines)
        yield FactGroup(
            self.tr("Most multiply-adds"), list(self._ranking(node, architecture, values))
        )
        cost = head_cost(architecture, node.path, values)
        if cost is not None:
            title = self.tr("One of {0} heads").format(cost.heads) + of_each
            yield FactGroup(title, list(self._head(cost)))
        yield FactGroup(self.tr("Symbols"), list(self._legend(node, architecture, values)))
        yield FactGroup(self.tr("Weight memory") + of_each, list(self._memory(node)))

    def _count(self, row: TreeRow, architecture: Architecture) -> Iterator[Fact]:
        node = row.node
        if not node.parameters:
            return
        others = relations(architecture.symbols)
        written = self._written(node, architecture)
        steps = count_steps(written, architecture)
        if steps is None:
            if self._workspace.is_deriving:
                yield "", self.tr("deriving…")
            else:
                yield "", self.tr("{0}, no formula found").format(f"{node.parameters:,}")
            return
        result = self.tr("{0} {1} matches the actual count").format(f"{steps.result:,}", TICK)
        if row.is_folded:
            all_layers = self.tr(", {0} layers: {1}")
            result += all_layers.format(len(row.members), f"{row.parameters:,}")
        yield "", CountView(steps.terms, result)
        if node.domain is not None:
            yield self.tr("Valid if"), domain_text(node.domain)
        letters = names_in(node.count_formula)
        if used := [relation for relation in others if relation.name in letters]:
            yield "", self._choice(used)

    def _written(self, node: ModuleNode, architecture: Architecture) -> ModuleNode:
        """Return the node with its formula as the user wants it written."""
        if not self._workspace.writes_letters_by_others:
            return node
        others = relations(architecture.symbols)
        return replace(node, count_formula=substituted(node.count_formula, others))

    def _choice(self, used: Sequence[Relation]) -> QCheckBox:
        written = ",\n".join(
            readable(relation.text).replace(" = ", self.tr(" as ")) for relation in used
        )
        box = named(QCheckBox(self.tr("Write {0}").format(written)), "relationCheck")
        box.setChecked(self._workspace.writes_letters_by_others)
        # The page is written anew, and the box with it, which may not go amid its own signal.
        box.toggled.connect(self._choose, Qt.ConnectionType.QueuedConnection)
        return box

    @Slot(bool)
    def _choose(self, wanted: bool) -> None:
        self._workspace.writes_letters_by_others = wanted
        self._changed()
        box = self._tab.findChild(QCheckBox, "relationCheck")
        if isinstance(box, QCheckBox):
            box.setFocus()

    def _shapes(
        self, node: ModuleNode, architecture: Architecture, values: dict[str, int]
    ) -> Iterator[Fact]:
        costs = architecture.costs
        found = None if costs is None else costs.modules.get(node.path)
        if found is None:
            return
        for name, shape in (
            (self.tr("Input"), found.input_shape),
            (self.tr("Output"), found.output_shape),
        ):
            if shape is not None:
                yield name, _shape_text(shape, values)

    def _costs_heading(self, architecture: Architecture, values: dict[str, int]) -> str:
        costs = architecture.costs
        if costs is None or costs.reason:
            return self.tr("Multiply-adds")
        return self.tr("Multiply-adds, for {0}").format(sentence_text(architecture, values))

    def _costs(
        self, node: ModuleNode, architecture: Architecture, values: dict[str, int]
    ) -> Iterator[Fact]:
        steps = cost_of(node, architecture, values)
        if steps is None:
            yield "", self._without_costs(node, architecture)
            return
        macs = self.tr("{0} multiply-adds").format(f"{steps.result:,}")
        flops = self.tr("{0} FLOPs (1 multiply-add = 2 FLOPs)").format(
            f"{FLOPS_PER_MAC * steps.result:,}"
        )
        yield "", CountView(steps.terms, f"{macs} = {flops}")
        if architecture.costs is not None and architecture.costs.domain is not None:
            yield self.tr("Valid if"), domain_text(architecture.costs.domain)
        if not node.path and (peak := peak_text(architecture, values)):
            yield self.tr("Peak activation memory"), self.tr("{0}, in float32").format(peak)
        if not node.path and (cache := kv_cache_text(architecture, values)):
            yield self.tr("KV cache"), cache

    def _ranking(
        self, node: ModuleNode, architecture: Architecture, values: dict[str, int]
    ) -> Iterator[Fact]:
        """Yield the parts that multiply most, equal layers together, with their shares."""
        parts = part_costs(architecture, node.path, values)
        whole = sum(part.macs for part in parts)
        for part in parts[:MOST_PARTS] if len(parts) > 1 else ():
            label = part.label or self.tr("itself")
            link = Link(f"{part.macs:,} · {label}", part.path)
            yield f"{part.macs / whole:.1%}", links([link], self._workspace)

    def _head(self, cost: HeadCost) -> Iterator[Fact]:
        """Yield what one head has of an attention's parameters and multiply-adds."""
        names = {"query": "Q", "key": "K", "value": "V"}
        own = {names[part]: n for part, n in cost.parameters.items() if part in names}
        each = ", ".join(f"{name} {count:,}" for name, count in own.items())
        output, has_output = self.tr("W_O separately: {0}"), "output" in cost.parameters
        text = f"{sum(own.values()):,} ({each})"
        if has_output:
            text += "\n" + output.format(f"{cost.parameters['output']:,}")
        yield self.tr("Parameters"), text
        if cost.macs:
            text = f"{cost.macs:,}"
            if cost.output_macs:
                text += "\n" + output.format(f"{cost.output_macs:,}")
            elif has_output:
                text += "\n" + self.tr("including W_O")
            yield self.tr("Multiply-adds"), text

    def _without_costs(self, node: ModuleNode, architecture: Architecture) -> str:
        """Say in one line why a module has no formula of its multiply-adds."""
        costs = architecture.costs
        if costs is None:
            is_deriving = self._workspace.is_deriving
            return self.tr("deriving…") if is_deriving else self.tr("no formula found")
        if reason := why_no_formula(architecture, node.path):
            return self.tr("no formula found: {0}").format(reason)
        found = costs.modules.get(node.path)
        if found is None:
            return self.tr("0: not called in the forward pass")
        if found.macs == "0":
            return self.tr("0: only matrix products are counted")
        return self.tr("no formula found")

    def _legend(
        self, node: ModuleNode, architecture: Architecture, values: dict[str, int]
    ) -> Iterator[Fact]:
        used: set[str] = set()
        costs = architecture.costs
        found = None if costs is None else costs.modules.get(node.path)
        written = self._written(node, architecture)
        formulas = [written.count_formula]
        if found is not None:
            formulas += [found.macs or "0", *(found.input_shape or ()), *(found.output_shape or ())]
        for formula in formulas:
            used |= _letters(formula)
        inputs = () if costs is None else costs.symbols
        for symbol in (*inputs, *architecture.symbols):
            if symbol.name in used:
                yield symbol.name, self._meaning(symbol, values)

    def _meaning(self, symbol: Symbol, values: dict[str, int]) -> str:
        value = f"{values[symbol.name]:,}"
        if symbol.key == symbol.name:
            return self.tr("{0}, from the configuration").format(value)
        if symbol.key:
            return self.tr("{0} = {1}, {2}").format(symbol.key, value, symbol.meaning)
        return self.tr("{0}, {1}").format(value, symbol.meaning)

    def _memory(self, node: ModuleNode) -> Iterator[Fact]:
        if node.parameters:
            for dtypes, size in memory_sizes(node.parameters):
                yield dtypes, size_text(size)


def _letters(formula: str) -> frozenset[str]:
    try:
        return names_in(formula)
    except FormulaError:
        return frozenset()


def _shape_text(shape: tuple[str, ...], values: dict[str, int]) -> str:
    letters = readable(shape_text(shape))
    try:
        numbers = ", ".join(str(evaluate(size, values)) for size in shape)
    except FormulaError:
        return letters
    return f"{letters}\n= [{numbers}]"
