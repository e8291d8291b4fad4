"""The layers of a model and the parts of a layer: which modules a line over the layers is made of.

A part is named by its path inside a layer: "attention.self", and "" is the layer itself.
"""

from collections.abc import Iterator

from msgspec import Struct

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.sources.family_names import DROPOUT


class Series(Struct, frozen=True):
    """One part in each layer of a stack, or in each call of a layer that is shared.

    Attributes:
        stack: what tells its stack from others, as "encoder.layer".
        part: the path inside a layer, "" for the layer itself.
        paths: the modules, one for each point. One path again and again is that of a shared layer.
        is_shared: whether each point is a call of one module.
    """

    stack: str
    part: str
    paths: tuple[str, ...]
    is_shared: bool = False

    @property
    def label(self) -> str:
        """Stack and part in words."""
        if self.is_shared and self.part:
            return f"{self.stack}.{self.part}: output"
        return f"{self.stack}: {self.part or 'output'}"

    def points(self) -> Iterator[tuple[str, int]]:
        """Yield each point's module, and which of its calls counts: -1 is the last."""
        for index, path in enumerate(self.paths):
            yield path, index if self.is_shared else -1


def layer_series(
    architecture: Architecture, run: ActivationRun, part: str = ""
) -> tuple[Series, ...]:
    """Return a part in all stacks that have it; there are two in an encoder-decoder.

    A model with one shared layer that it calls several times, as ALBERT, has a point for each
    call. What the run never called has no series.
    """
    calls = {module.path: len(module.calls) for module in run.modules}
    found = []
    for stack in layer_stacks(architecture):
        paths = tuple(f"{node.path}.{part}" if part else node.path for node in stack)
        is_shared = len(paths) == 1 and calls.get(stack[0].path, 0) > 1
        if is_shared:
            series = Series(stack[0].path, part, paths * calls.get(paths[0], 0), is_shared)
        else:
            series = Series(_name(architecture, stack), part, paths)
        found.append(series)
    return tuple(series for series in found if any(path in calls for path in series.paths))


def part_of(architecture: Architecture, run: ActivationRun, path: str) -> tuple[str, str] | None:
    """Return stack and part that the module at ``path`` belongs to, ``None`` outside of layers."""
    for series in layer_series(architecture, run):
        for layer in series.paths:
            if path == layer or path.startswith(f"{layer}."):
                return series.stack, path[len(layer) + 1 :]
    return None


def part_names(architecture: Architecture, run: ActivationRun) -> tuple[str, ...]:
    """Return the parts of all stacks that the run called, in the order of the modules.

    Dropouts are left out: in a run they give what they take.
    """
    called = {module.path for module in run.modules}
    classes = {node.path: node.class_name for node in architecture.modules}
    names: dict[str, None] = {}
    for series in layer_series(architecture, run):
        # In the order of the first layer that has it: layers may differ.
        for layer in dict.fromkeys(series.paths):
            below = (path for path in classes if path.startswith(f"{layer}."))
            for path in below:
                if path in called and DROPOUT not in classes[path]:
                    names.setdefault(path[len(layer) + 1 :])
    return tuple(names)


def layer_stacks(architecture: Architecture) -> tuple[tuple[ModuleNode, ...], ...]:
    """Return the outermost lists of layers: of equal ones, or of any that hold no equal ones.

    All layers of a list count: T5's first one has a table that the others lack. A decoder may
    have no two equal layers, or just one, beside an encoder that has more.
    """
    repeated = {node.parent for node in architecture.modules if node.repeat is not None}
    lists = {node.path for node in architecture.modules if node.class_name == "ModuleList"}
    lists = {path for path in lists if not any(str(p).startswith(f"{path}.") for p in repeated)}
    stacks: list[tuple[ModuleNode, ...]] = []
    inside: tuple[str, ...] = ()
    for node in architecture.modules:
        if f"{node.path}.".startswith(inside) or node.path not in repeated | lists:
            continue
        stack = tuple(n for n in architecture.children(node.path) if n.name.isdecimal())
        if stack:
            stacks.append(stack)
        inside = (*inside, *(f"{layer.path}." for layer in stack))
    return tuple(stacks)


def _name(architecture: Architecture, stack: tuple[ModuleNode, ...]) -> str:
    # The last two names tell stacks apart: encoder.layers and decoder.layers.
    return ".".join((stack[0].parent or architecture.root.class_name).split(".")[-2:])
