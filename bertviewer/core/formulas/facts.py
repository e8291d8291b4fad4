"""What notes depend on: questions about a module and its configuration, answered yes or no."""

from collections.abc import Callable

from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, ancestors
from bertviewer.core.sources.family_names import ANGLES, DROPOUT, ON_PROBABILITIES, POSITION_TABLES

IMAGE = "pixel values"
DATA = (IMAGE, "input features", "input values")
"""What the code calls inputs that are images or sound."""


def has_module(*names: str) -> Callable[[ModuleView], bool]:
    """Return the condition that the model has a module with one of these names."""
    return lambda view: any(node.name in names for node in view.architecture.modules)


has_positions = has_module(*POSITION_TABLES)
"""Whether the model has a table of position vectors."""
has_contact_head = has_module("contact_head")
"""Whether the model has ESM's head for contacts: a weight for each head of each layer."""


def drops_out(view: ModuleView) -> bool:
    """Return whether a dropout at or below the module drops anything in training."""
    path = view.node.path
    return any(_drops(node) for node in view.architecture.modules if path in ancestors(node.path))


def drops_probabilities(view: ModuleView) -> bool:
    """Return whether an attention drops some of its probabilities in training."""
    children = [child for name, child in view.children.items() if name in ON_PROBABILITIES]
    return any(_drops(node) for node in (view.node, *children))


def rotates(view: ModuleView) -> bool:
    """Return whether any attention rotates its queries and keys by their positions."""
    return any(node.operation == "rotary" for node in view.all_nodes())


def has_head_size(view: ModuleView) -> bool:
    """Return whether the size of a head has a key and does not follow from the width."""
    return bool(view.keys("head size")) or "attention_head_size" in view.config


def has_angle_table(view: ModuleView) -> bool:
    """Return whether a rotation's angles, one for two entries of a head, are a fixed tensor."""
    tensors = view.architecture.parameters
    return any(t.name.endswith(ANGLES) and not t.trainable for t in tensors)


def has_windows(view: ModuleView) -> bool:
    """Return whether any attention of the model sees a window only."""
    kinds = view.config.get("layer_types")
    if isinstance(kinds, list | tuple):
        return "sliding_attention" in kinds
    return isinstance(view.config.get("sliding_window"), int)


def scored_labels(view: ModuleView) -> int | None:
    """Return how many labels the configuration names, ``None`` if it names none."""
    labels = view.config.get("id2label")
    count = len(labels) if isinstance(labels, dict) else view.config.get("num_labels")
    return count if isinstance(count, int) else None


def input_names(view: ModuleView, kind: str = "input") -> list[str]:
    """Return the names of the whole model's inputs, or of its outputs."""
    flows = view.architecture.flows
    root = None if flows is None else flows.flow("")
    return [node.name for node in (root.nodes if root else ()) if node.kind == kind]


def reads_data(view: ModuleView) -> bool:
    """Return whether the model reads an image or sound: its positions are no tokens."""
    return not {*DATA}.isdisjoint(input_names(view))


def reads_target(node: ModuleNode, architecture: Architecture) -> bool:
    """Return whether a module is part of the decoder of an encoder-decoder."""
    return any(
        path.rpartition(".")[2] == "decoder"
        and "encoder" in {each.name for each in architecture.children(path.rpartition(".")[0])}
        for path in ancestors(node.path)
    )


def _drops(node: ModuleNode) -> bool:
    """Return whether a module's attributes name a chance to drop elements."""
    names = [name for name in node.attributes if "drop" in name]
    names += ["p"] if DROPOUT in node.class_name else []
    chances = [node.attributes.get(name) for name in names]
    return any(isinstance(p, int | float) and p is not True and p > 0 for p in chances)
