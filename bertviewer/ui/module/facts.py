"""Facts about the selected module, as groups of names and values for the inspector."""

import json
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QCheckBox, QPushButton, QWidget

from bertviewer.core.analysis.costs import HeadCost, head_cost, part_costs
from bertviewer.core.expressions.evaluation import FormulaError, evaluate, names_in
from bertviewer.core.expressions.polynomials import Relation, relations, substituted
from bertviewer.core.expressions.symbols import Symbol, shape_text
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.cost_texts import (
    cost_of,
    kv_cache_text,
    memory_sizes,
    peak_text,
    sentence_text,
    size_text,
    why_no_formula,
)
from bertviewer.core.schema.costs import FLOPS_PER_MAC
from bertviewer.core.schema.count_steps import count_steps, readable
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.schema.statistics import STATISTIC_NAMES, statistic_value
from bertviewer.core.util.numbers import count_text, number_text
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import subtotal
from bertviewer.ui.checkpoint.load_report import checkpoint_facts, show_load_report
from bertviewer.ui.module.count_view import CountView
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import Link, links
from bertviewer.ui.what_if.texts import domain_text
from bertviewer.ui.widgets.facts import Fact, FactGroup
from bertviewer.ui.widgets.labels import left_aligned
from bertviewer.ui.widgets.layouts import named

TICK = "✓"
MAX_PARTS = 6
"""Parts that are listed by their multiply-adds."""
_STATISTIC_TITLES = {
    "zero_fraction": QT_TRANSLATE_NOOP("ModuleFacts", "Zeros"),
    "nan_count": QT_TRANSLATE_NOOP("ModuleFacts", "NaN"),
    "inf_count": QT_TRANSLATE_NOOP("ModuleFacts", "Inf"),
}

Values = dict[str, int]
"""Values of symbols."""


class ModuleFacts(QObject):
    """Groups of facts about a row of the tree.

    ``changed`` is called when the user changes how formulas are written; ``page`` shows the facts.
    """

    def __init__(self, workspace: Workspace, changed: Callable[[], None], page: QWidget) -> None:
        super().__init__(page)
        self._workspace = workspace
        self._changed = changed
        self._page = page

    def groups(
        self, row: TreeRow, architecture: Architecture, formula: Formula | None
    ) -> list[FactGroup]:
        """Return all groups; counts of a folded row are those of one layer."""
        node, values = row.node, bindings(architecture, self._workspace.runs.run)
        per_layer = self.tr(", per layer") if row.is_folded else ""
        keys = formula.config_keys if formula else ()
        head = head_cost(architecture, node.path, values)
        groups: list[tuple[str, Iterator[Fact]]] = [
            (self.tr("Parameter count") + per_layer, self._count(row, architecture)),
            (self.tr("Shapes"), self._shapes(node, architecture, values)),
            (
                self._costs_heading(architecture, values) + per_layer,
                self._costs(node, architecture, values),
            ),
            (self.tr("Most multiply-adds"), self._ranking(node, architecture, values)),
            (
                self.tr("One of {0} heads").format(head.heads if head else 0) + per_layer,
                self._head(head),
            ),
            (self.tr("Symbols"), self._symbols(node, architecture, values)),
            (self.tr("Weight memory") + per_layer, self._memory(node)),
            (self.tr("Location"), self._location(row, architecture)),
            (self.tr("Parameters"), self._parameters(row, architecture)),
            (self.tr("Checkpoint"), self._checkpoint(row)),
            (self._output_heading(), self._output(row)),
            (
                self.tr("Configuration"),
                ((key, json.dumps(architecture.config[key])) for key in keys),
            ),
            (
                self.tr("Module attributes"),
                ((name, str(value)) for name, value in node.attributes.items()),
            ),
        ]
        return [FactGroup(heading, list(facts)) for heading, facts in groups]

    def _count(self, row: TreeRow, architecture: Architecture) -> Iterator[Fact]:
        node = row.node
        if not node.parameters:
            return
        steps = count_steps(self._written(node, architecture), architecture)
        if steps is None:
            no_formula = self.tr("{0}, no formula found").format(f"{node.parameters:,}")
            yield "", self.tr("deriving…") if self._workspace.is_deriving else no_formula
            return
        result = self.tr("{0} {1} matches the actual count").format(f"{steps.result:,}", TICK)
        if row.is_folded:
            all_layers = self.tr(", {0} layers: {1}")
            result += all_layers.format(len(row.members), f"{row.parameters:,}")
        yield "", CountView(steps.terms, result)
        if node.domain is not None:
            yield self.tr("Valid if"), domain_text(node.domain)
        names = names_in(node.count_formula)
        if used := [each for each in relations(architecture.symbols) if each.name in names]:
            yield "", self._relation_check(used)

    def _written(self, node: ModuleNode, architecture: Architecture) -> ModuleNode:
        """Return the node with its formula as the user wants it written."""
        if not self._workspace.writes_letters_by_others:
            return node
        used = relations(architecture.symbols)
        return replace(node, count_formula=substituted(node.count_formula, used))

    def _relation_check(self, used: Sequence[Relation]) -> QCheckBox:
        written = ",\n".join(
            readable(relation.text).replace(" = ", self.tr(" as ")) for relation in used
        )
        check = named(QCheckBox(self.tr("Write {0}").format(written)), "relationCheck")
        check.setChecked(self._workspace.writes_letters_by_others)
        # Queued, because the page replaces the check box.
        check.toggled.connect(self._set_relations, Qt.ConnectionType.QueuedConnection)
        return check

    @Slot(bool)
    def _set_relations(self, is_wanted: bool) -> None:
        self._workspace.writes_letters_by_others = is_wanted
        self._changed()
        check = self._page.findChild(QCheckBox, "relationCheck")
        if isinstance(check, QCheckBox):
            check.setFocus()

    def _shapes(
        self, node: ModuleNode, architecture: Architecture, values: Values
    ) -> Iterator[Fact]:
        costs = architecture.costs
        module = None if costs is None else costs.modules.get(node.path)
        if module is None:
            return
        for name, shape in (
            (self.tr("Input"), module.input_shape),
            (self.tr("Output"), module.output_shape),
        ):
            if shape is not None:
                yield name, _shape_text(shape, values)

    def _costs_heading(self, architecture: Architecture, values: Values) -> str:
        costs = architecture.costs
        if costs is None or costs.reason:
            return self.tr("Multiply-adds")
        return self.tr("Multiply-adds, for {0}").format(sentence_text(architecture, values))

    def _costs(
        self, node: ModuleNode, architecture: Architecture, values: Values
    ) -> Iterator[Fact]:
        steps = cost_of(node, architecture, values)
        if steps is None:
            yield "", self._why_no_costs(node, architecture)
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

    def _why_no_costs(self, node: ModuleNode, architecture: Architecture) -> str:
        costs = architecture.costs
        if costs is None and self._workspace.is_deriving:
            return self.tr("deriving…")
        if costs is None:
            return self.tr("no formula found")
        if reason := why_no_formula(architecture, node.path):
            return self.tr("no formula found: {0}").format(reason)
        module = costs.modules.get(node.path)
        if module is None:
            return self.tr("0: not called in the forward pass")
        if module.macs == "0":
            return self.tr("0: only matrix products are counted")
        return self.tr("no formula found")

    def _ranking(
        self, node: ModuleNode, architecture: Architecture, values: Values
    ) -> Iterator[Fact]:
        """Yield the parts with the most multiply-adds, and their shares."""
        parts = part_costs(architecture, node.path, values)
        total = sum(part.macs for part in parts)
        for part in parts[:MAX_PARTS] if len(parts) > 1 else ():
            label = part.label or self.tr("itself")
            link = Link(f"{part.macs:,} · {label}", part.path)
            yield f"{part.macs / total:.1%}", links([link], self._workspace)

    def _head(self, cost: HeadCost | None) -> Iterator[Fact]:
        """Yield the parameters and multiply-adds of one attention head."""
        if cost is None:
            return
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

    def _symbols(
        self, node: ModuleNode, architecture: Architecture, values: Values
    ) -> Iterator[Fact]:
        """Yield the symbols of all formulas that are shown, with their values and meanings."""
        costs = architecture.costs
        module = None if costs is None else costs.modules.get(node.path)
        formulas = [self._written(node, architecture).count_formula]
        if module is not None:
            shapes = (module.input_shape or ()), (module.output_shape or ())
            formulas += [module.macs or "0", *shapes[0], *shapes[1]]
        used = {name for formula in formulas for name in _names(formula)}
        inputs = () if costs is None else costs.symbols
        for symbol in (*inputs, *architecture.symbols):
            if symbol.name in used:
                yield symbol.name, self._meaning(symbol, values)

    def _meaning(self, symbol: Symbol, values: Values) -> str:
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

    def _location(self, row: TreeRow, architecture: Architecture) -> Iterator[Fact]:
        node = row.node
        yield self.tr("Class"), row.class_label
        yield self.tr("Path"), row.key or self.tr("(the model itself)")
        if node.repeat is not None and not row.is_folded:
            text = self.tr("{0} of {1}, counted from {2}; all have the same structure")
            yield self.tr("Layer"), text.format(node.name, node.repeat.count, node.repeat.first)
        if node.parent is not None:
            parent = next(m for m in architecture.modules if m.path == node.parent)
            link = Link(parent.path or parent.class_name, parent.path)
            after = f"({parent.class_name})" if parent.path else ""
            yield self.tr("Parent"), links([link], self._workspace, after)
        if row.children:
            children = [Link(child.label, child.key) for child in row.children]
            yield self.tr("Children"), links(children, self._workspace)

    def _parameters(self, row: TreeRow, architecture: Architecture) -> Iterator[Fact]:
        node = row.node
        yield self.tr("Total"), self._elements(row.parameters)
        if row.is_folded:
            yield self.tr("Each layer"), self._elements(node.parameters)
        if node.own_parameters not in (0, node.parameters):
            yield self.tr("Own tensors"), self._elements(node.own_parameters)
        prefix = f"{node.path}." if node.path else ""
        text = self.tr("{0} is tied to {1} and counted there")
        tied = [
            Link(
                text.format(tensor.name.removeprefix(prefix), tensor.tied_to),
                tensor.tied_to.rpartition(".")[0],
            )
            for tensor in architecture.tensors_below(node.path)
            if tensor.tied_to is not None and not tensor.tied_to.startswith(prefix)
        ]
        if tied:
            yield self.tr("Tied"), links(tied, self._workspace)
        yield self.tr("Trainable"), f"{row.trainable:,}"
        without = None if node.path else subtotal(build_walkthrough(architecture), architecture)
        if without is not None:
            text = self.tr("{0}: without {1}").format(f"{without.parameters:,}", without.difference)
            yield self.tr("Embeddings and layers"), text
        if node.path:
            yield self.tr("Share of the model"), f"{row.share:.4%}"

    def _elements(self, count: int) -> str:
        return count_text(count, self.tr("1 element"), self.tr("{0} elements"))

    def _checkpoint(self, row: TreeRow) -> Iterator[Fact]:
        report = self._workspace.keys
        if report is None or row.node.path:
            return
        yield from checkpoint_facts(report)
        if report.has_lists:
            button = named(QPushButton(self.tr("Show all names…")), "showKeyReport")
            button.clicked.connect(
                lambda: show_load_report(report, self._workspace, self._page.window())
            )
            yield " ", left_aligned(button)

    def _output_heading(self) -> str:
        run = self._workspace.runs.run
        if run is not None and run.source.weights == "random":
            return self.tr("Output in the last run, with random weights")
        if run is not None and run.source.random_tensors:
            return self.tr("Output in the last run, with some random weights")
        return self.tr("Output in the last run")

    def _output(self, row: TreeRow) -> Iterator[Fact]:
        run = self._workspace.runs.run
        activation = None if run is None else run.activation(row.node.path)
        if activation is None or row.is_folded:
            return
        yield self.tr("Input shape"), shape_text(activation.input_shape)
        yield self.tr("Output shape"), shape_text(activation.output_shape)
        if activation.skip_reason:
            yield self.tr("Not measured"), activation.skip_reason
            return
        for name in STATISTIC_NAMES:
            value = statistic_value(activation.statistics, name)
            text = "–" if value is None else number_text(value, 9)
            yield self.tr(_STATISTIC_TITLES.get(name, name)), text
        if activation.macs:
            yield self.tr("Multiply-adds"), f"{activation.macs:,}"


def _names(formula: str) -> frozenset[str]:
    try:
        return names_in(formula)
    except FormulaError:
        return frozenset()


def _shape_text(shape: tuple[str, ...], values: Values) -> str:
    symbols = readable(shape_text(shape))
    try:
        numbers = ", ".join(str(evaluate(size, values)) for size in shape)
    except FormulaError:
        return symbols
    return f"{symbols}\n= [{numbers}]"
