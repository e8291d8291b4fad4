"""What notes depend on: questions about a module and its configuration, answered yes or no."""

from collections.abc import Callable

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.families.names import (
    ANGLES,
    DROPOUT,
    ON_PROBABILITIES,
    POSITION_TABLES,
)
from bertviewer.core.formulas.module_view import ModuleView

DATA = (IMAGE := "pixel values", "input features", "input values")
"""What the code calls inputs that are images or sound."""


def has_module(*names: str) -> Callable[[ModuleView], bool]:
    """Return the condition that the model has a module with one of these names."""
    return lambda view: any(node.name in names for node in view.architecture.modules)


has_positions = has_module(*POSITION_TABLES)
"""Whether the model has a table of position vectors."""
has_contact_head = has_module("contact_head")
"""Whether the model has ESM's head for contacts: a weight for each head of each layer."""
has_projected_embeddings = has_module("embeddings_project")
"""Whether the embeddings are mapped to the model's width before the first layer."""


def drops_out(view: ModuleView) -> bool:
    """Return whether a dropout at or below the module drops anything in training."""
    path = view.node.path
    return any(_drops(node) for node in view.architecture.modules if path in ancestors(node.path))


def drops_probabilities(view: ModuleView) -> bool:
    """Return whether an attention drops some of its probabilities in training."""
    children = [child for name, child in view.children.items() if name in ON_PROBABILITIES]
    return any(_drops(node) for node in (view.node, *children))


def hides_later(view: ModuleView) -> bool:
    """Return whether no position sees a later one in the attention of the module or below it."""
    return is_causal(view.architecture, view.node.path) is True


def sees_later(view: ModuleView) -> bool:
    """Return whether positions see later ones there; false too where nothing was traced."""
    return is_causal(view.architecture, view.node.path) is False


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


def has_two_kinds_of_layers(view: ModuleView) -> bool:
    """Return whether some layers see the whole sequence and some a window."""
    return len(set(view.config.get("layer_types") or ())) > 1


def follows_cross(view: ModuleView) -> bool:
    """Return whether the module's layer has a cross-attention too."""
    layer = view.node.path.rpartition(".")[0]
    return any(node.name == "crossattention" for node in view.architecture.children(layer))


def tells_classes_apart(view: ModuleView) -> bool:
    """Return whether the scores are of classes that exclude each other."""
    kind = view.config.get("problem_type")
    return scored_labels(view) != 1 and kind in (None, "single_label_classification")


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


def shares_its_table(view: ModuleView) -> bool:
    """Return whether encoder and decoder look tokens up in the table that both are given."""
    names = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    first = [t.tied_to or "" for t in view.architecture.parameters if t.name.endswith(names)]
    return len(first) == 2 and all(name.endswith("shared.weight") for name in first)


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
