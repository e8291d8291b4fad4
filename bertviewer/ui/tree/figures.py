"""Shapes, multiply-adds and statistics of the rows of the module tree. Without Qt."""

from collections.abc import Mapping
from functools import cached_property

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.costs import ModuleCosts
from bertviewer.core.schema.count_steps import readable
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.schema.statistics import statistic_value

BATCH = "B"


class TreeFigures:
    """Values by row, from derived costs, a run and a model comparison; computed on demand."""

    def __init__(
        self,
        architecture: Architecture | None = None,
        run: ActivationRun | None = None,
        changes: Mapping[str, float] | None = None,
    ) -> None:
        self._architecture = architecture
        self._run = run
        self._changes = changes or {}
        self._macs: dict[str, int | None] = {}
        self._symbolic_shapes: dict[tuple[str, ...], tuple[str, ...]] = {}

    def activation(self, row: TreeRow) -> ModuleActivation | None:
        """Return the activation of a module in the last run, ``None`` for a folded row."""
        return None if row.is_folded else self._activations.get(row.node.path)

    def output(self, row: TreeRow) -> tuple[str, ...] | None:
        """Return the sizes of a module's output for one sentence.

        They are those of the last run; without one, sizes that depend on it are symbols (``S``).
        """
        if (activation := self._activations.get(row.node.path)) is not None:
            return _of_sentence(activation.output_shape)
        costs = self._costs.get(row.node.path)
        return None if costs is None else self._symbolic(costs.output_shape)

    def outputs(self) -> set[tuple[str, ...]]:
        """Return the distinct sizes of all outputs."""
        concrete = {_of_sentence(each.output_shape) for each in self._activations.values()}
        symbolic = {costs.output_shape for costs in self._costs.values()}
        return concrete | {sizes for each in symbolic if (sizes := self._symbolic(each))}

    def output_shape(self, row: TreeRow) -> tuple[int, ...] | None:
        """Return the output shape of a row, or of its first member, in the last run."""
        activation = self._activations.get(row.node.path)
        return None if activation is None else activation.output_shape

    def macs(self, row: TreeRow) -> int | None:
        """Return the multiply-adds of a row for the last run's sentence, members added up."""
        if not row.is_folded:
            return self._macs_of(row.node)
        found = [self._macs_of(member.node) for member in row.members]
        known = [count for count in found if count is not None]
        return sum(known) if len(known) == len(found) else None

    def statistic(self, row: TreeRow, name: str) -> float | None:
        """Return a statistic of a module's output in the last run."""
        activation = self.activation(row)
        if activation is None or activation.skip_reason:
            return None
        return statistic_value(activation.statistics, name)

    def change(self, row: TreeRow) -> float | None:
        """Return the relative change of a module in the compared model."""
        return None if row.is_folded else self._changes.get(row.node.path)

    def is_trained(self, node: ModuleNode) -> bool | None:
        """Return whether a module's own tensors are trained, ``None`` if it has none."""
        if self._architecture is None or node.path not in self._owners:
            return None
        return self._architecture.source.weights == "pretrained" and not self._owners[node.path]

    @cached_property
    def _activations(self) -> Mapping[str, ModuleActivation]:
        return {} if self._run is None else {module.path: module for module in self._run.modules}

    @property
    def _costs(self) -> Mapping[str, ModuleCosts]:
        costs = None if self._architecture is None else self._architecture.costs
        return {} if costs is None else costs.modules

    @cached_property
    def _values(self) -> Mapping[str, int]:
        """Values of all symbols, those of the sentence included."""
        return {} if self._architecture is None else bindings(self._architecture, self._run)

    @cached_property
    def _sizes(self) -> Mapping[str, int]:
        """Values of the configuration's symbols."""
        return {} if self._architecture is None else self._architecture.symbol_values

    @cached_property
    def _owners(self) -> Mapping[str, bool]:
        """Whether any own tensor is random, by module with own tensors."""
        if self._architecture is None:
            return {}
        random = set(self._architecture.source.random_tensors)
        owners: dict[str, bool] = {}
        for tensor in self._architecture.parameters:
            is_random = not random.isdisjoint((tensor.name, tensor.tied_to))
            owners[tensor.owner] = owners.get(tensor.owner, False) or is_random
        return owners

    def _symbolic(self, shape: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if shape is None:
            return None
        if shape not in self._symbolic_shapes:
            sizes = shape[1:] if shape[:1] == (BATCH,) else shape
            self._symbolic_shapes[shape] = tuple(map(self._size, sizes))
        return self._symbolic_shapes[shape]

    def _size(self, formula: str) -> str:
        try:
            return str(evaluate(formula, self._sizes))
        except FormulaError:  # depends on the sentence
            return readable(formula)

    def _macs_of(self, node: ModuleNode) -> int | None:
        costs, activation = self._costs.get(node.path), self._activations.get(node.path)
        if activation is not None and activation.macs is not None:
            return activation.macs
        if costs is None or costs.macs is None or self._architecture is None:
            return None
        if costs.macs not in self._macs:
            all_costs = self._architecture.costs
            assert all_costs is not None
            self._macs[costs.macs] = all_costs.macs(node.path, self._values)
        return self._macs[costs.macs]


def _of_sentence(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return the sizes of a shape without a batch size of 1."""
    return tuple(map(str, shape[1:] if len(shape) > 1 and shape[0] == 1 else shape))
