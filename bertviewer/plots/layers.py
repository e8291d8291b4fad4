"""The figures of a run layer by layer: what a layer plot shows, as plain numbers."""

from dataclasses import dataclass

from bertviewer.core.architecture import Architecture, ModuleNode
from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.core.run.statistics import Statistics, figure


@dataclass(frozen=True, slots=True)
class LayerSeries:
    """One line of the plot: a value and the module it comes from for each layer, from layer 0."""

    label: str
    values: tuple[float | None, ...]
    paths: tuple[str, ...]


def layer_series(
    architecture: Architecture, run: ActivationRun, statistic: str, selected: str = ""
) -> tuple[LayerSeries, ...]:
    """Return a line for each stack of layers, and one for the selected part of a layer.

    A model without repeated layers that calls one shared layer several times, as ALBERT does,
    gets a line with a value for each call. Which lines there are depends on the run alone: every
    statistic gives the same ones, with ``None`` where it has no value.
    """
    activations = {module.path: module.calls for module in run.modules}
    stacks = _stacks(architecture)
    lines = []
    for stack in stacks:
        paths = [node.path for node in stack]
        # The last two names tell stacks apart: encoder.layers and decoder.layers.
        name = ".".join((stack[0].parent or architecture.root.class_name).split(".")[-2:])
        lines.append(_line(f"{name}: output", paths, activations, statistic))
        for path in paths:
            if selected.startswith(f"{path}."):
                part = selected.removeprefix(f"{path}.")
                parts = [f"{p}.{part}" for p in paths]
                lines.append(_line(f"{name}: {part}", parts, activations, statistic))
    if not stacks:
        lines = _shared_layer(run, statistic, selected)
    return tuple(line for line in lines if any(path in activations for path in line.paths))


def _stacks(architecture: Architecture) -> list[list[ModuleNode]]:
    """Return the outermost runs of equal layers."""
    stacks: list[list[ModuleNode]] = []
    inside: tuple[str, ...] = ()
    for node in architecture.modules:
        if node.repeat is None or node.path.startswith(inside):
            continue
        if int(node.name) == node.repeat.first:
            stacks.append([])
        stacks[-1].append(node)
        inside = (*inside, f"{node.path}.")
    return stacks


def _line(
    label: str,
    paths: list[str],
    activations: dict[str, tuple[Statistics, ...]],
    statistic: str,
) -> LayerSeries:
    values = tuple(
        figure(calls[-1], statistic) if (calls := activations.get(path)) else None for path in paths
    )
    return LayerSeries(label, values, tuple(paths))


def _shared_layer(run: ActivationRun, statistic: str, selected: str) -> list[LayerSeries]:
    repeated = [module for module in run.modules if len(module.calls) > 1]
    shown = repeated[:1] + [m for m in repeated[1:] if m.path == selected]
    return [
        LayerSeries(
            f"{module.path}: output",
            tuple(figure(call, statistic) for call in module.calls),
            (module.path,) * len(module.calls),
        )
        for module in shown
    ]
