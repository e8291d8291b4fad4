"""Modules that do one thing that has a formula of its own: norms, activations, tables, layers.

What they are is found by what they compute; their formula is the one that a class of that role
has.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from bertviewer.core.architecture.flow import Flow, Node
from bertviewer.core.formulas import (
    activations,
    embedding_tables,
    normalisation,
    primitives,
    rms_normalisation,
)
from bertviewer.core.formulas.formula import Formula
from bertviewer.core.formulas.module_view import ModuleView

_ACTIVATIONS: Mapping[str, Callable[[ModuleView], Formula]] = {
    "GELU": activations.gelu,
    "GELU (tanh)": activations.gelu_tanh,
    "quick GELU": activations.quick_gelu,
    "ReLU": activations.relu,
    "SiLU": activations.silu,
    "tanh": activations.tanh,
    "sigmoid": activations.sigmoid,
}
_VECTORS = {"weight", "bias"}


def leaf_formula(flow: Flow, view: ModuleView) -> Formula | None:
    """Return the formula of a module that is one such thing and no more, else ``None``."""
    done = [node for node in flow.nodes if node.kind in ("module", "group", "operation")]
    given = [node for node in flow.nodes if node.kind in ("parameter", "constant")]
    if len(done) != 1 or given or done[0].path != flow.path:
        if not done and _is_rotation(flow):
            return _tried(embedding_tables.rotation, view)
        return None
    node = done[0]
    build = _ACTIVATIONS.get(str(node.details.get("activation")))
    if node.operation == "activation" and build is not None:
        return build(view)
    own = {name for name in view.tensors if "." not in name}
    if own - _VECTORS:
        return None
    return _of_vectors(node, view)


def _of_vectors(node: Node, view: ModuleView) -> Formula | None:
    """Return the formula of a module whose own tensors are a weight and a bias, or less."""
    details = node.details
    if node.operation == "rms norm" and "bias" not in view.tensors:
        one_plus = details.get("one_plus") is True
        build = rms_normalisation.rms_norm_one_plus if one_plus else rms_normalisation.rms_norm
        return build(_with_epsilon(view, node))
    if node.operation == "layer norm":
        return normalisation.layer_norm(_with_epsilon(view, node))
    if node.operation == "linear" and details.get("function") == "linear":
        return _tried(primitives.linear, view)
    if node.operation == "embedding":
        return _tried(embedding_tables.embedding, view)
    return None


def _tried(build: Callable[[ModuleView], Formula], view: ModuleView) -> Formula | None:
    try:
        return build(view)
    except (LookupError, TypeError, ValueError):
        return None


def _with_epsilon(view: ModuleView, node: Node) -> ModuleView:
    """Return the module with the epsilon that it used."""
    attributes = {**view.node.attributes, "eps": node.details.get("eps")}
    return replace(view, node=replace(view.node, attributes=attributes))


def _is_rotation(flow: Flow) -> bool:
    """Tell whether a module makes the cosines and sines of positions, and nothing else."""
    return any(node.name == "sines and cosines" for node in flow.nodes) and not any(
        node.kind in ("module", "group", "operation") for node in flow.nodes
    )
