"""The parts that a run can be called again in: each layer, and each module beside the layers."""

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode

_LIST = "ModuleList"


def unit_paths(architecture: Architecture) -> tuple[str, ...]:
    """Return the outermost layers, and the outermost modules that hold none of these.

    Layers are equal modules in a row, and what a list holds: a shared layer, as ALBERT's, is the
    only one of its list, and each of its calls is one pass of it. Together the units cover the
    model; what lies above them only hands tensors on.
    """
    layers = _layers(architecture)
    found: list[str] = []

    def descend(node: ModuleNode) -> None:
        holds_layers = any(path.startswith(f"{node.path}." if node.path else "") for path in layers)
        if node.path in layers or (node.path and not holds_layers):
            found.append(node.path)
            return
        for child in architecture.children(node.path):
            descend(child)

    descend(architecture.root)
    return tuple(found)


def layer_paths(architecture: Architecture) -> tuple[str, ...]:
    """Return those of the units that are layers."""
    layers = _layers(architecture)
    return tuple(path for path in unit_paths(architecture) if path in layers)


def unit_of(path: str, units: tuple[str, ...]) -> str | None:
    """Return the unit that the module at ``path`` is or lies in; ``None`` for those above."""
    return next((unit for unit in units if f"{path}.".startswith(f"{unit}.")), None)


def _layers(architecture: Architecture) -> frozenset[str]:
    classes = {node.path: node.class_name for node in architecture.modules}

    def is_layer(node: ModuleNode) -> bool:
        # A list itself is never called.
        is_listed = node.parent is not None and classes[node.parent] == _LIST
        return node.repeat is not None or (is_listed and node.class_name != _LIST)

    return frozenset(node.path for node in architecture.modules if is_layer(node))
