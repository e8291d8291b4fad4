"""The parts that a run can be called again in: each layer, and each module beside the layers."""

from bertviewer.core.architecture import Architecture, ModuleNode


def unit_paths(architecture: Architecture) -> tuple[str, ...]:
    """Return the outermost repeated modules, and the outermost ones that hold none of these.

    Together they cover the model; what lies above them only hands tensors on.
    """
    layers = [node.path for node in architecture.modules if node.repeat is not None]
    found: list[str] = []

    def descend(node: ModuleNode) -> None:
        holds_layers = any(path.startswith(f"{node.path}." if node.path else "") for path in layers)
        if node.repeat is not None or (node.path and not holds_layers):
            found.append(node.path)
            return
        for child in architecture.children(node.path):
            descend(child)

    descend(architecture.root)
    return tuple(found)


def unit_of(path: str, units: tuple[str, ...]) -> str | None:
    """Return the unit that the module at ``path`` is or lies in; ``None`` for those above."""
    return next((unit for unit in units if f"{path}.".startswith(f"{unit}.")), None)
