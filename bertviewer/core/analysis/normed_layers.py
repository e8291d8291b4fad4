"""Whether the figures of a run's layers are what a norm at its start gives, whatever else they do.

A layer norm gives every vector the mean β and the std γ. Nothing of the layer is left in these two
as long as all of γ is 1 and all of β is 0, as random weights leave them.
"""

from math import isclose, sqrt

from msgspec import Struct

from bertviewer.core.analysis.layer_parts import layer_series
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.statistics import Statistics

NEAR = 1e-3
"""How near to 0 and 1 mean and std are: the epsilon of a norm keeps them a little off."""


class NormedLayers(Struct, frozen=True):
    """What each layer ends in: the class of its norm, and how many features a vector has."""

    class_name: str
    features: int

    @property
    def norm(self) -> float:
        """The Euclidean norm of every vector of mean 0 and std 1."""
        return sqrt(self.features)


def normed_layers(architecture: Architecture, run: ActivationRun) -> NormedLayers | None:
    """Return what all layers of a run end in, ``None`` unless that alone makes their figures."""
    modules = {module.path: module for module in run.modules}
    found: NormedLayers | None = None
    for series in layer_series(architecture, run):
        for path, call in series.points():
            layer = modules.get(path)
            if layer is None or not _is_standard(layer.calls[call]):
                return None
            norm = _last_norm(architecture, layer, modules, call)
            if norm is None:
                return None
            found = NormedLayers(norm.class_name, norm.output_shape[-1])
    return found


def _last_norm(
    architecture: Architecture,
    layer: ModuleActivation,
    modules: dict[str, ModuleActivation],
    call: int,
) -> ModuleActivation | None:
    """Return the norm inside of a layer that gave what the layer gave."""
    for path, module in modules.items():
        if not path.startswith(f"{layer.path}."):
            continue
        node = architecture.module(path)
        is_norm = node is not None and node.role == "layer norm"
        if is_norm and module.calls[min(call, len(module.calls) - 1)] == layer.calls[call]:
            return module
    return None


def _is_standard(figures: Statistics) -> bool:
    mean, std = figures.mean, figures.std
    if mean is None or std is None:
        return False
    return isclose(mean, 0.0, abs_tol=NEAR) and isclose(std, 1.0, abs_tol=NEAR)
