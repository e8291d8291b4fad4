"""The module that a formula describes: its tensors, children, attributes and graph."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from bertviewer.core.formulas.notation import Affine
from bertviewer.core.graph.module_graph import (
    ModuleGraph,
    Step,
    closed,
    graph_of,
    is_first,
    with_tables,
)
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Node
from bertviewer.core.schema.modules import ModuleNode, TensorInfo
from bertviewer.core.sources.family_names import CONFIG_KEYS
from bertviewer.core.util.serialization import PartialEquality, Scalar


class ModuleView(PartialEquality, Struct, frozen=True, dict=True):
    """One module with what its formula needs, looked up once.

    All views of one architecture are in ``views``, by path: graphs are read once for all of them.
    """

    NOT_COMPARED = ("views",)

    node: ModuleNode
    architecture: Architecture
    views: dict[str, "ModuleView"] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        node: ModuleNode,
        architecture: Architecture,
        views: dict[str, "ModuleView"] | None = None,
    ) -> "ModuleView":
        """Return the view of a module, which is added to the other ``views``."""
        views = {} if views is None else views
        return views.setdefault(node.path, cls(node, architecture, views))

    @cached_property
    def children(self) -> Mapping[str, ModuleNode]:
        """The modules directly below, by name."""
        return {child.name: child for child in self.architecture.children(self.node.path)}

    @cached_property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The tensors at and below the module, by their names from here on."""
        skip = len(self.node.path) + 1 if self.node.path else 0
        return {t.name[skip:]: t for t in self.architecture.tensors_below(self.node.path)}

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

    @property
    def is_torch(self) -> bool:
        """Whether the class is one of torch.nn."""
        return self.node.class_module.startswith("torch.nn.modules.")

    @property
    def lengths(self) -> set[int]:
        """The sequence lengths that the graphs were traced with."""
        flows = self.architecture.flows
        traced = {} if flows is None else flows.lengths
        return {traced[name] for name in ("S", "S_d") if name in traced}

    def only(self, *operations: str) -> Step | None:
        """Return the module's only step if it computes one of these operations."""
        step = None if self.graph is None else self.graph.only
        return step if step is not None and step.operation in operations else None

    def all_nodes(self) -> Iterator[Node]:
        """Yield the nodes of all graphs of the model, those in groups too."""
        flows = self.architecture.flows
        for flow in () if flows is None else flows.distinct.values():
            yield from flow.all_nodes()

    def at(self, path: str) -> "ModuleView | None":
        """Return the module at a path of the model as a view, ``None`` if there is none."""
        node = self.architecture.module(path)
        return None if node is None else ModuleView.of(node, self.architecture, self.views)

    def tensor(self, name: str) -> TensorInfo | None:
        """Return a tensor of the model by its whole name, ``None`` if there is none."""
        tensors = self.architecture.tensors_below(name.rpartition(".")[0])
        return next((each for each in tensors if each.name == name), None)

    def parameter_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor by its whole name, empty if there is none."""
        tensor = self.tensor(name)
        return () if tensor is None else tensor.shape

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

        ``None`` if no matrix is stored there. A convolution is one if it reads one position at a
        time.
        """
        view = self if path is None else self.at(path)
        weight = () if view is None else view.shape("weight") or ()
        if view is None or len(weight) < 2:
            return None
        step = None if view.graph is None else view.graph.sole("linear")
        has_bias = "bias" in view.tensors
        if len(weight) == 2:
            return Affine(weight, has_bias, transposed=step is None or is_out_in(step))
        if step is None:
            return None
        sizes = (int(str(step.node.details[key])) for key in ("out_features", "in_features"))
        return Affine(tuple(sizes), has_bias, convolution=view.node.name)

    def affine_of(self, step: Step) -> Affine | None:
        """Return the linear layer that a step is, with or without a module for it."""
        if step.node.kind == "module":
            return self.affine(step.node.path or "")
        shapes = [self.parameter_shape(o.parameter) for o in step.operands if o.parameter]
        if not shapes or len(shapes[0]) != 2:
            return None
        return Affine(shapes[0], len(shapes) > 1, transposed=is_out_in(step))

    def width_of(self, step: Step) -> int:
        """Return how many features a step computes for each position.

        Convolutions have the features before the positions: [B, features, S].
        """
        *_, before, last = (0, 0, *step.node.shape)
        is_turned = (
            len(step.node.shape) == 3 and last in self.lengths and before not in self.lengths
        )
        return before if is_turned else last

    def keys(self, *choices: str) -> tuple[str, ...]:
        """Return this configuration's keys for the choices, those that it has."""
        return tuple(key for choice in choices for key in CONFIG_KEYS[choice] if key in self.config)


def reads_first(view: ModuleView) -> bool:
    """Return whether a module reads the first position only."""
    graph = view.graph
    steps = () if graph is None else graph.steps
    read = [o for step in steps for o in step.tensors if graph and o.node in graph.given]
    return bool(read) and all(is_first(operand.parts) for operand in read)


def is_out_in(step: Step, weight: str = "") -> bool:
    """Return whether a linear layer's weight is stored [out, in], as its product shows."""
    function = str(step.node.details.get("function", "linear"))
    stored = {each.parameter: each for each in step.operands if each.parameter}
    named = weight or min(stored, key=lambda name: not name.endswith("weight"), default="")
    is_transposed = named in stored and bool(stored[named].parts)
    return (function == "linear" or function.startswith("conv")) != is_transposed
