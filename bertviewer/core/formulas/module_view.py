"""One module with all that its formula depends on: tensors, graph, surroundings, configuration."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from bertviewer.core.formulas.formula import Affine
from bertviewer.core.graph.module_graph import (
    EMPTY,
    ModuleGraph,
    Step,
    closed,
    graph_of,
    is_first,
    with_tables,
)
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flows, Node
from bertviewer.core.schema.modules import ModuleNode, TensorInfo, ancestors
from bertviewer.core.sources.config_keys import CONFIG_KEYS
from bertviewer.core.sources.families import (
    ATTENTION_DROPOUTS,
    DROPOUT,
    POSITION_TABLES,
    ROTARY_ANGLES,
)
from bertviewer.core.util.serialization import PartialEquality, Scalar

_NO_FLOWS = Flows({})


class ModuleView(PartialEquality, Struct, frozen=True, dict=True):
    """One module with memoized facts for its formula.

    ``views`` are all views of one architecture by path, so that graphs are read once.
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
        """The tensors in and below the module, by their relative names."""
        skip = len(self.node.path) + 1 if self.node.path else 0
        return {t.name[skip:]: t for t in self.architecture.tensors_below(self.node.path)}

    @property
    def flows(self) -> Flows:
        """The data flow of all modules, empty if the model was not traced."""
        return self.architecture.flows or _NO_FLOWS

    @cached_property
    def is_called(self) -> bool:
        """Whether the module was called in the traced forward pass."""
        return self.flows.flow(self.node.path) is not None

    @cached_property
    def graph(self) -> ModuleGraph:
        """The module's data-flow graph, empty if it was not called."""
        flow = self.flows.flow(self.node.path)
        return EMPTY if flow is None else with_tables(graph_of(flow), self.flows)

    @cached_property
    def calls(self) -> ModuleGraph:
        """The graph with one step for each child, empty if their calls are cyclic."""
        return closed(self.graph, self.node.path) or EMPTY

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's configuration."""
        return self.architecture.config

    @property
    def width(self) -> int | str:
        """The model's width by its configuration, "D" if there is none."""
        key = next(iter(self.config_keys("width")), None)
        return "D" if key is None else int(self.config[key])

    @property
    def is_torch(self) -> bool:
        """Whether the class is one of torch.nn."""
        return self.node.class_module.startswith("torch.nn.modules.")

    @property
    def lengths(self) -> set[int]:
        """The sequence lengths that the graphs were traced with."""
        traced = self.flows.lengths
        return {traced[name] for name in ("S", "S_d") if name in traced}

    def only(self, *operations: str) -> Step | None:
        """Return the module's only step if it has one of these operations."""
        step = self.graph.only
        return step if step is not None and step.operation in operations else None

    def all_nodes(self) -> Iterator[Node]:
        """Yield the nodes of all graphs of the model, including those in groups."""
        for flow in self.flows.distinct.values():
            yield from flow.all_nodes()

    def at(self, path: str) -> "ModuleView | None":
        """Return the view of the module at a path of the model, ``None`` without one."""
        node = self.architecture.module(path)
        return None if node is None else ModuleView.of(node, self.architecture, self.views)

    def tensor(self, name: str) -> TensorInfo | None:
        """Return a tensor of the model by its full name, ``None`` without one."""
        tensors = self.architecture.tensors_below(name.rpartition(".")[0])
        return next((each for each in tensors if each.name == name), None)

    def parameter_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor by its full name, empty without one."""
        tensor = self.tensor(name)
        return () if tensor is None else tensor.shape

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a tensor in or below the module, ``None`` without one."""
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
        """Return the linear layer at a path of the model, by default this module; or ``None``."""
        view = self if path is None else self.at(path)
        weight = () if view is None else view.shape("weight") or ()
        if view is None or len(weight) < 2:
            return None
        step = view.graph.sole("linear")
        has_bias = "bias" in view.tensors
        if len(weight) == 2:
            return Affine(weight, has_bias, transposed=step is None or is_out_in(step))
        if step is None:
            return None
        sizes = (int(str(step.node.details[key])) for key in ("out_features", "in_features"))
        return Affine(tuple(sizes), has_bias, convolution=view.node.name)

    def affine_of(self, step: Step) -> Affine | None:
        """Return the linear layer of a step, with or without a module for it."""
        if step.node.kind == "module":
            return self.affine(step.path)
        shapes = [self.parameter_shape(o.parameter) for o in step.operands if o.parameter]
        if not shapes or len(shapes[0]) != 2:
            return None
        return Affine(shapes[0], len(shapes) > 1, transposed=is_out_in(step))

    def width_of(self, step: Step) -> int:
        """Return the number of features that a step computes for each position.

        Results of convolutions are [B, features, S].
        """
        *_, before, last = (0, 0, *step.node.shape)
        is_channels_first = last in self.lengths and before not in self.lengths
        return before if is_channels_first and len(step.node.shape) == 3 else last

    def config_keys(self, *choices: str) -> tuple[str, ...]:
        """Return the existing configuration keys for names of ``CONFIG_KEYS``."""
        return tuple(key for choice in choices for key in CONFIG_KEYS[choice] if key in self.config)


def reads_first(view: ModuleView) -> bool:
    """Return whether a module reads the first position only."""
    graph = view.graph
    read = [o for step in graph.steps for o in step.tensors if o.node in graph.given]
    return bool(read) and all(is_first(operand.parts) for operand in read)


def is_out_in(step: Step, weight: str = "") -> bool:
    """Return whether a linear layer's weight is stored as [out, in], by its product."""
    function = str(step.node.details.get("function", "linear"))
    stored = {each.parameter: each for each in step.operands if each.parameter}
    named = weight or min(stored, key=lambda name: not name.endswith("weight"), default="")
    is_transposed = named in stored and bool(stored[named].parts)
    return (function == "linear" or function.startswith("conv")) != is_transposed


class Place(Struct, frozen=True):
    """A module as part of another module's graph.

    Attributes:
        view: the enclosing module.
        graph: the enclosing module's graph.
        steps: the steps of the module, within ``group`` if there is one.
        group: the group that contains them.
    """

    view: ModuleView
    graph: ModuleGraph
    steps: tuple[Step, ...]
    group: Step | None = None


def places(view: ModuleView) -> Iterator[Place]:
    """Yield the module's places in the modules around it, the innermost first."""
    _, *above = ancestors(view.node.path)
    for around in filter(None, map(view.at, above)):
        for group in (None, *around.graph.steps):
            held = around.graph.steps if group is None else group.inner
            if own := tuple(step for step in held if _is_part(step, view.node.path)):
                yield Place(around, around.graph, own, group)
                break


def _is_part(step: Step, path: str) -> bool:
    return f"{step.node.path or ''}.".startswith(f"{path}.")


IMAGE = "pixel values"
IMAGE_OR_SOUND = (IMAGE, "input features", "input values")
"""Names of inputs that are images or sound."""


def has_module(*names: str) -> Callable[[ModuleView], bool]:
    """Return the condition that the model has a module with one of these names."""
    return lambda view: any(node.name in names for node in view.architecture.modules)


has_positions = has_module(*POSITION_TABLES)
"""Whether the model has a table of position vectors."""

has_contact_head = has_module("contact_head")
"""Whether the model has ESM's head for contacts: a weight for each head of each layer."""


def dropout_of(view: ModuleView) -> str:
    """Return the probabilities of dropout in and below the module, "" if nothing is dropped."""
    path = view.node.path
    return _dropout(each for each in view.architecture.modules if path in ancestors(each.path))


def dropout_of_probabilities(view: ModuleView) -> str:
    """Return the probability with which an attention drops probabilities in training, or ""."""
    children = [child for name, child in view.children.items() if name in ATTENTION_DROPOUTS]
    return _dropout((view.node, *children))


def rotates(view: ModuleView) -> bool:
    """Return whether any attention of the model rotates queries and keys."""
    return any(node.operation == "rotary" for node in view.all_nodes())


def has_head_size(view: ModuleView) -> bool:
    """Return whether the head size has a configuration key."""
    return bool(view.config_keys("head size")) or "attention_head_size" in view.config


def has_angle_table(view: ModuleView) -> bool:
    """Return whether the angles of rotations are a fixed tensor."""
    tensors = view.architecture.parameters
    return any(t.name.endswith(ROTARY_ANGLES) and not t.trainable for t in tensors)


def has_windows(view: ModuleView) -> bool:
    """Return whether any attention of the model has a sliding window."""
    kinds = view.config.get("layer_types")
    if isinstance(kinds, list | tuple):
        return "sliding_attention" in kinds
    return isinstance(view.config.get("sliding_window"), int)


def scored_labels(view: ModuleView) -> int | None:
    """Return the number of labels in the configuration, ``None`` without any."""
    labels = view.config.get("id2label")
    count = len(labels) if isinstance(labels, dict) else view.config.get("num_labels")
    return count if isinstance(count, int) else None


def io_names(view: ModuleView, kind: str = "input") -> list[str]:
    """Return the names of the model's nodes of one kind: ``input`` or ``output``."""
    root = view.flows.flow("")
    return [node.name for node in (root.nodes if root else ()) if node.kind == kind]


def reads_image_or_sound(view: ModuleView) -> bool:
    """Return whether the model reads an image or sound instead of tokens."""
    return not {*IMAGE_OR_SOUND}.isdisjoint(io_names(view))


def reads_target(node: ModuleNode, architecture: Architecture) -> bool:
    """Return whether a module is part of the decoder of an encoder-decoder."""
    return any(
        path.rpartition(".")[2] == "decoder"
        and "encoder" in {each.name for each in architecture.children(path.rpartition(".")[0])}
        for path in ancestors(node.path)
    )


def _dropout(nodes: Iterable[ModuleNode]) -> str:
    """Return the probabilities of dropout above 0 in the attributes of modules, or ""."""
    found: set[float] = set()
    for node in nodes:
        names = [name for name in node.attributes if "drop" in name]
        names += ["p"] if DROPOUT in node.class_name else []
        chances = [node.attributes.get(name) for name in names]
        found.update(p for p in chances if isinstance(p, int | float) and p is not True and p > 0)
    return " or ".join(f"{p:g}" for p in sorted(found))
