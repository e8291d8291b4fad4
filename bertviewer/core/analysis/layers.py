"""Layers of a model: stacks, units that can be replayed, and the parts of a layer.

A part is identified by its path inside a layer: "attention.self"; "" is the layer itself.
"""

from collections.abc import Iterator
from math import isclose, sqrt

from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, ancestors
from bertviewer.core.sources.families import DROPOUT
from bertviewer.core.sources.model_source import BASE

NORM_TOLERANCE = 1e-3
"""How far a norm's epsilon can move the mean from 0 and the standard deviation from 1."""


class Series(Struct, frozen=True):
    """One part in each layer of a stack, or in each call of a shared layer.

    Attributes:
        stack: the stack's name, such as "encoder.layer".
        part: the path inside a layer, "" for the layer itself.
        paths: the module of each point; a shared layer's is repeated.
        is_shared: whether the points are the calls of one module.
    """

    stack: str
    part: str
    paths: tuple[str, ...]
    is_shared: bool = False

    @property
    def label(self) -> str:
        """Stack and part for people to read."""
        if self.is_shared and self.part:
            return f"{self.stack}.{self.part}: output"
        return f"{self.stack}: {self.part or 'output'}"

    def points(self) -> Iterator[tuple[str, int]]:
        """Yield the module and the call of each point; -1 is the last call."""
        for index, path in enumerate(self.paths):
            yield path, index if self.is_shared else -1


class NormedLayers(Struct, frozen=True):
    """The norm that all layers end in: its class and the size of its vectors."""

    class_name: str
    features: int

    @property
    def norm(self) -> float:
        """The Euclidean norm of a vector with mean 0 and std 1."""
        return sqrt(self.features)


def layer_stacks(architecture: Architecture) -> tuple[tuple[ModuleNode, ...], ...]:
    """Return the outermost lists of layers.

    A list is a module with equal numbered children, or a ``ModuleList`` without one inside. All
    its numbered children are layers: in T5, the first one differs by a table of positions.
    """
    repeated = {node.parent for node in architecture.modules if node.repeat is not None}
    around = {above for path in repeated if path for above in ancestors(path) if above != path}
    lists = {node.path for node in architecture.modules if node.class_name == "ModuleList"}
    stacks: list[tuple[ModuleNode, ...]] = []
    inside: tuple[str, ...] = ()
    for node in architecture.modules:
        if f"{node.path}.".startswith(inside) or node.path not in repeated | lists - around:
            continue
        stack = tuple(n for n in architecture.children(node.path) if n.name.isdecimal())
        if stack:
            stacks.append(stack)
        inside = (*inside, *(f"{layer.path}." for layer in stack))
    return tuple(stacks)


def task_head(architecture: Architecture) -> tuple[ModuleNode, ...]:
    """Return the root's children with parameters that follow the last one with layers.

    There are none in a base model, without layers, or in a root that has them itself: what follows
    them there is part of the model.
    """
    stacks = {stack[0].parent or "" for stack in layer_stacks(architecture)}
    bodies = {path.partition(".")[0] for path in stacks}
    if architecture.source.task == BASE.name or not stacks or bodies & stacks:
        return ()
    children = architecture.children("")
    last = max((place for place, node in enumerate(children) if node.name in bodies), default=-1)
    return tuple(node for node in children[last + 1 :] if architecture.tensors_below(node.path))


def layer_paths(architecture: Architecture) -> tuple[str, ...]:
    """Return the layers of all stacks."""
    return tuple(layer.path for stack in layer_stacks(architecture) for layer in stack)


def unit_paths(architecture: Architecture) -> tuple[str, ...]:
    """Return the units that a run can call again: the layers, and the modules outside of them.

    Together they cover the model. The modules above them only pass tensors on.
    """
    layers = layer_paths(architecture)
    around = {"", *(above for layer in layers for above in ancestors(layer))} - set(layers)
    return tuple(
        node.path
        for node in architecture.modules
        if node.path not in around and node.parent in around
    )


def unit_of(path: str, units: tuple[str, ...]) -> str | None:
    """Return the unit that a module is or lies in; ``None`` for a module above the units."""
    return next((unit for unit in units if f"{path}.".startswith(f"{unit}.")), None)


def outermost_layer(path: str) -> str | None:
    """Return the outermost layer of a path: up to its first number; ``None`` without one."""
    parts = path.split(".")
    first = next((n for n, part in enumerate(parts) if part.isdecimal()), None)
    return None if first is None else ".".join(parts[: first + 1])


def layer_list(path: str) -> str:
    """Return the path of the outermost list of layers that a module is in, "" for none."""
    return (outermost_layer(path) or "").rpartition(".")[0]


def layer_series(
    architecture: Architecture, run: ActivationRun, part: str = ""
) -> tuple[Series, ...]:
    """Return a part in all stacks that called it; an encoder-decoder has two.

    A single layer that is called several times, as in ALBERT, has a point for each call.
    """
    calls = {module.path: len(module.calls) for module in run.modules}
    found = []
    for stack in layer_stacks(architecture):
        paths = tuple(f"{node.path}.{part}" if part else node.path for node in stack)
        # The last two names distinguish encoder.layers from decoder.layers.
        name = ".".join((stack[0].parent or architecture.root.class_name).split(".")[-2:])
        if is_shared := len(paths) == 1 and calls.get(stack[0].path, 0) > 1:
            name, paths = stack[0].path, paths * calls.get(paths[0], 0)
        if any(path in calls for path in paths):
            found.append(Series(name, part, paths, is_shared))
    return tuple(found)


def part_of(architecture: Architecture, run: ActivationRun, path: str) -> tuple[str, str] | None:
    """Return the stack and the part of a module, ``None`` outside of layers."""
    for series in layer_series(architecture, run):
        for layer in series.paths:
            if path == layer or path.startswith(f"{layer}."):
                return series.stack, path[len(layer) + 1 :]
    return None


def part_names(architecture: Architecture, run: ActivationRun) -> tuple[str, ...]:
    """Return the parts of all stacks that the run called, in the order of the modules.

    Dropouts are left out: in evaluation mode they are the identity.
    """
    called = {module.path for module in run.modules}
    shown = [
        n.path for n in architecture.modules if n.path in called and DROPOUT not in n.class_name
    ]
    return tuple(
        dict.fromkeys(
            path.removeprefix(f"{layer}.")
            for series in layer_series(architecture, run)
            for layer in dict.fromkeys(series.paths)
            for path in shown
            if path.startswith(f"{layer}.")
        )
    )


def normed_layers(architecture: Architecture, run: ActivationRun) -> NormedLayers | None:
    """Return the norm that determines the mean and std of every layer's output, if one does.

    An untrained layer norm (γ = 1, β = 0) gives every vector mean 0 and std 1, whatever the layer
    computes.
    """
    modules = {module.path: module for module in run.modules}
    norms = [n.path for n in architecture.modules if n.role == "layer norm" and n.path in modules]
    found: NormedLayers | None = None
    for series in layer_series(architecture, run):
        for path, call in series.points():
            if path not in modules:
                return None
            output = modules[path].calls[call]
            for norm in (modules[inner] for inner in norms if inner.startswith(f"{path}.")):
                if norm.calls[min(call, len(norm.calls) - 1)] == output:
                    break
            else:
                return None
            if not (_is_near(output.mean, 0.0) and _is_near(output.std, 1.0)):
                return None
            found = NormedLayers(norm.class_name, norm.output_shape[-1])
    return found


def _is_near(value: float | None, expected: float) -> bool:
    return value is not None and isclose(value, expected, abs_tol=NORM_TOLERANCE)
