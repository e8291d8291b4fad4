"""Facts about the selected module: its place, its counts, its checkpoint, its figures, its keys."""

import json
from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.statistics import STATISTIC_NAMES, statistic_value
from bertviewer.core.util.numbers import count_text, number_text
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.core.walkthrough.counts import subtotal
from bertviewer.ui.checkpoint.facts import checkpoint_facts
from bertviewer.ui.checkpoint.load_report_dialog import show_key_report
from bertviewer.ui.module.count_facts import CountFacts
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import Link, links
from bertviewer.ui.widgets.facts import Fact, FactGroup
from bertviewer.ui.widgets.labels import left_aligned
from bertviewer.ui.widgets.layouts import named

_NAMES = {
    "zero_fraction": QT_TRANSLATE_NOOP("ModuleFacts", "Zeros"),
    "nan_count": QT_TRANSLATE_NOOP("ModuleFacts", "NaN"),
    "inf_count": QT_TRANSLATE_NOOP("ModuleFacts", "Inf"),
}


class ModuleFacts(QObject):
    """Writes the groups of facts about a row of the tree.

    ``changed`` is called when the user wants a formula written in another way; ``page`` is where
    all is shown.
    """

    def __init__(self, workspace: Workspace, changed: Callable[[], None], page: QWidget) -> None:
        super().__init__(page)
        self._workspace = workspace
        self._page = page
        self._count_facts = CountFacts(workspace, changed, page)

    def count_groups(self, row: TreeRow, architecture: Architecture) -> Iterator[FactGroup]:
        """Yield what a module's numbers are made of."""
        return self._count_facts.groups(row, architecture)

    def groups(
        self, row: TreeRow, architecture: Architecture, formula: Formula | None
    ) -> Iterator[FactGroup]:
        """Yield what else is known about a module."""
        yield FactGroup(self.tr("Location"), self._place(row, architecture))
        yield FactGroup(self.tr("Parameters"), self._counts(row, architecture))
        yield FactGroup(self.tr("Checkpoint"), self._checkpoint(row))
        yield FactGroup(self._figures_title(), self._figures(row))
        keys = formula.config_keys if formula else ()
        facts = [(key, json.dumps(architecture.config[key])) for key in keys]
        yield FactGroup(self.tr("Configuration"), facts)
        attributes = [(n, str(v)) for n, v in row.node.attributes.items()]
        yield FactGroup(self.tr("Module attributes"), attributes)

    def _place(self, row: TreeRow, architecture: Architecture) -> list[Fact]:
        node = row.node
        facts: list[Fact] = [(self.tr("Class"), row.class_label)]
        facts.append((self.tr("Path"), row.key or self.tr("(the model itself)")))
        if node.repeat is not None and not row.is_folded:
            facts.append(
                (
                    self.tr("Layer"),
                    self.tr("{0} of {1}, counted from {2}; all have the same structure").format(
                        node.name, node.repeat.count, node.repeat.first
                    ),
                )
            )
        if node.parent is not None:
            above = next(m for m in architecture.modules if m.path == node.parent)
            inside = [Link(above.path or above.class_name, above.path)]
            said = f"({above.class_name})" if above.path else ""
            facts.append((self.tr("Parent"), links(inside, self._workspace, said)))
        if row.children:
            parts = [Link(child.label, child.key) for child in row.children]
            facts.append((self.tr("Children"), links(parts, self._workspace)))
        return facts

    def _counts(self, row: TreeRow, architecture: Architecture) -> list[Fact]:
        node = row.node
        facts: list[Fact] = [(self.tr("Total"), self._elements(row.parameters))]
        if row.is_folded:
            facts.append((self.tr("Each layer"), self._elements(node.parameters)))
        if node.own_parameters not in (0, node.parameters):
            facts.append((self.tr("Own tensors"), self._elements(node.own_parameters)))
        prefix = f"{node.path}." if node.path else ""
        says = self.tr("{0} is tied to {1} and counted there")
        tied = [
            Link(
                says.format(tensor.name.removeprefix(prefix), tensor.tied_to),
                tensor.tied_to.rpartition(".")[0],
            )
            for tensor in architecture.tensors_below(node.path)
            if tensor.tied_to is not None and not tensor.tied_to.startswith(prefix)
        ]
        if tied:
            facts.append((self.tr("Tied"), links(tied, self._workspace)))
        facts.append((self.tr("Trainable"), f"{row.trainable:,}"))
        without = None if node.path else subtotal(build_walkthrough(architecture), architecture)
        if without is not None:
            text = self.tr("{0}: without {1}").format(f"{without.parameters:,}", without.difference)
            facts.append((self.tr("Embeddings and layers"), text))
        if node.path:
            facts.append((self.tr("Share of the model"), f"{row.share:.4%}"))
        return facts

    def _elements(self, count: int) -> str:
        return count_text(count, self.tr("1 element"), self.tr("{0} elements"))

    def _checkpoint(self, row: TreeRow) -> list[Fact]:
        keys = self._workspace.keys
        if keys is None or row.node.path:
            return []
        button = named(QPushButton(self.tr("Show all names…")), "showKeyReport")
        button.clicked.connect(partial(show_key_report, keys, self._workspace, self._page.window()))
        facts = checkpoint_facts(keys)
        return [*facts, (" ", left_aligned(button))] if keys.has_lists else facts

    def _figures_title(self) -> str:
        run = self._workspace.runs.run
        if run is not None and run.source.weights == "random":
            return self.tr("Output in the last run, with random weights")
        if run is not None and run.source.random_tensors:
            return self.tr("Output in the last run, with some random weights")
        return self.tr("Output in the last run")

    def _figures(self, row: TreeRow) -> list[Fact]:
        run = self._workspace.runs.run
        activation = None if run is None else run.activation(row.node.path)
        if run is None or activation is None or row.is_folded:
            return []
        facts: list[Fact] = [
            (self.tr("Input shape"), shape_text(activation.input_shape)),
            (self.tr("Output shape"), shape_text(activation.output_shape)),
        ]
        if activation.skip_reason:
            return [*facts, (self.tr("Not measured"), activation.skip_reason)]
        for name in STATISTIC_NAMES:
            value = statistic_value(activation.statistics, name)
            shown = "–" if value is None else number_text(value, 9)
            facts.append((self.tr(_NAMES.get(name, name)), shown))
        if activation.macs:
            facts.append((self.tr("Multiply-adds"), f"{activation.macs:,}"))
        return facts
