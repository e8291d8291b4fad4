"""The module that a formula describes: its tensors, children, attributes and graph."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.families.names import CONFIG_KEYS
from bertviewer.core.formulas.graph import ModuleGraph, Step, closed, graph_of, with_tables
from bertviewer.core.formulas.notation import Affine
from bertviewer.core.frozen import frozen
from bertviewer.core.text.special_floats import Scalar


@frozen(slots=False)
class ModuleView:
    """One module with what its formula needs, looked up once."""

    node: ModuleNode
    architecture: Architecture
    children: Mapping[str, ModuleNode]
    tensors: Mapping[str, TensorInfo]

    @classmethod
    def of(cls, node: ModuleNode, architecture: Architecture) -> "ModuleView":
        """Collect what is below ``node``; tensors are keyed by their name relative to it."""
        skip = len(node.path) + 1 if node.path else 0
        children = {child.name: child for child in architecture.children(node.path)}
        below = architecture.tensors_below(node.path)
        return cls(node, architecture, children, {tensor.name[skip:]: tensor for tensor in below})

    @cached_property
    def graph(self) -> ModuleGraph | None:
        """The module's data-flow graph, ``None`` if it was not traced or is not called."""
        flows = self.architecture.flows
        flow = None if flows is None else flows.flow(self.node.path)
        return None if flow is None or flows is None else with_tables(graph_of(flow), flows)

    @cached_property
    def calls(self) -> ModuleGraph | None:
        """The graph with one step for each child, ``None`` if there is no such order."""
        return None if self.graph is None else closed(self.graph, self.node.path)

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's configuration."""
        return self.architecture.config

    @property
    def width(self) -> int | str:
        """The model's width by its configuration, the letter D where it has none."""
        key = next(iter(self.keys("width")), None)
        return "D" if key is None else int(self.config[key])

    def at(self, path: str) -> "ModuleView | None":
        """Return the module at a path of the model as a view, ``None`` if there is none."""
        node = self.architecture.module(path)
        return None if node is None else ModuleView.of(node, self.architecture)

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a tensor in or below the node, ``None`` if there is none."""
        tensor = self.tensors.get(name)
        return None if tensor is None else tensor.shape

    def attribute(self, *names: str) -> Scalar:
        """Return the first of these attributes that the module has."""
        return next((self.node.attributes[n] for n in names if n in self.node.attributes), None)

    def integer(self, *names: str) -> int | None:
        """Return the first of these attributes, if it is a whole number."""
        value = self.attribute(*names)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def affine(self, path: str | None = None) -> Affine | None:
        """Return the linear layer at a path of the model, by default this module.

        ``None`` if no matrix is stored there.
        """
        path = self.node.path if path is None else path
        weight, bias = self._tensor(path, "weight"), self._tensor(path, "bias")
        if weight is None or len(weight.shape) < 2:
            return None
        if len(weight.shape) > 2:
            return self._pointwise(path, bias=bias is not None)
        return Affine(weight.shape, bias is not None, transposed=self._is_out_in(path))

    def affine_of(self, step: Step) -> Affine | None:
        """Return the linear layer that a step is, with or without a module for it."""
        if step.node.kind == "module":
            return self.affine(step.node.path or "")
        stored = [o for o in step.operands if o.parameter]
        shapes = [self.parameter_shape(o.parameter) for o in stored]
        if not shapes or len(shapes[0]) != 2:
            return None
        function = str(step.node.details.get("function", "linear"))
        is_out_in = (function == "linear") != bool(stored[0].parts)
        return Affine(shapes[0], len(shapes) > 1, transposed=is_out_in)

    def width_of(self, step: Step) -> int:
        """Return how many features a step computes for each position.

        Convolutions have the features before the positions: [B, features, S].
        """
        shape = step.node.shape
        flows = self.architecture.flows
        lengths = set() if flows is None else {flows.lengths.get(name) for name in ("S", "S_d")}
        if len(shape) == 3 and shape[-1] in lengths and shape[-2] not in lengths:
            return shape[-2]
        return shape[-1]

    def parameter_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a parameter by its whole name, empty if there is none."""
        parameters = self.architecture.tensors_below(name.rpartition(".")[0])
        return next((each.shape for each in parameters if each.name == name), ())

    def keys(self, *choices: str) -> tuple[str, ...]:
        """Return this configuration's keys for the choices, those that it has."""
        return tuple(key for choice in choices for key in CONFIG_KEYS[choice] if key in self.config)

    def _tensor(self, path: str, ending: str) -> TensorInfo | None:
        name = f"{path}.{ending}" if path else ending
        return next((t for t in self.architecture.tensors_below(path) if t.name == name), None)

    def _pointwise(self, path: str, *, bias: bool) -> Affine | None:
        """Return a convolution as a linear layer if it reads one position at a time."""
        flows = self.architecture.flows
        flow = None if flows is None else flows.flow(path)
        step = None if flow is None else graph_of(flow).sole("linear")
        if step is None:
            return None
        shape = tuple(int(str(step.node.details[key])) for key in ("out_features", "in_features"))
        return Affine(shape, bias, convolution=path.rpartition(".")[2])

    def _is_out_in(self, path: str) -> bool:
        """Return whether a linear layer's weight is stored [out, in], as its product shows."""
        flows = self.architecture.flows
        flow = None if flows is None else flows.flow(path)
        step = None if flow is None else graph_of(flow).sole("linear")
        if step is None:
            return True
        function = str(step.node.details.get("function", "linear"))
        weight = next((o for o in step.operands if o.parameter.endswith("weight")), None)
        is_transposed = weight is not None and bool(weight.parts)
        return (function == "linear" or function.startswith("conv")) != is_transposed
