"""What notes depend on: questions about a module and its configuration, answered yes or no."""

from collections.abc import Iterator

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.families.names import (
    ANGLES,
    DROPOUT,
    ON_PROBABILITIES,
    POSITION_TABLES,
)
from bertviewer.core.formulas.module_view import ModuleView


def drops_out(view: ModuleView) -> bool:
    """Tell whether a dropout at or below the module drops anything in training."""
    return any(_chance(node) > 0 for node in _below(view))


def drops_probabilities(view: ModuleView) -> bool:
    """Tell whether an attention drops some of its probabilities in training."""
    children = [child for name, child in view.children.items() if name in ON_PROBABILITIES]
    return any(_chance(node) > 0 for node in (view.node, *children))


def child_drops(view: ModuleView) -> bool:
    """Tell whether a child of the module drops anything in training."""
    return any(_chance(child) > 0 for child in view.children.values())


def scores_with_table(view: ModuleView) -> bool:
    """Tell whether a linear layer shares a table's weight, which then trains all of its rows."""
    architecture = view.architecture
    table = view.tensors["weight"]
    first = table.tied_to or table.name
    names = {t.name for t in architecture.parameters if first in (t.name, t.tied_to)}
    flows = architecture.flows
    known = () if flows is None else flows.distinct.values()
    return any(
        node.operation == "linear" and names.intersection(node.reads)
        for flow in known
        for node in flow.all_nodes()
    )


def hides_later(view: ModuleView) -> bool:
    """Tell whether no position sees a later one in the attention of the module or below it."""
    return is_causal(view.architecture, view.node.path) is True


def sees_later(view: ModuleView) -> bool:
    """Tell whether positions see later ones there; false too where nothing was traced."""
    return is_causal(view.architecture, view.node.path) is False


def rotates(view: ModuleView) -> bool:
    """Tell whether any attention rotates its queries and keys by their positions."""
    flows = view.architecture.flows
    known = () if flows is None else flows.distinct.values()
    return any(node.operation == "rotary" for flow in known for node in flow.all_nodes())


def has_positions(view: ModuleView) -> bool:
    """Tell whether the model has a table of position vectors."""
    return any(node.name in POSITION_TABLES for node in view.architecture.modules)


def has_head_size(view: ModuleView) -> bool:
    """Tell whether the size of a head is a key of its own, and does not follow from the width."""
    return bool(view.keys("head size")) or "attention_head_size" in view.config


def has_angle_table(view: ModuleView) -> bool:
    """Tell whether the angles of a rotation, one for two entries of a head, are listed as a tensor.

    No training changes them.
    """
    tensors = view.architecture.parameters
    return any(t.name.endswith(ANGLES) and not t.trainable for t in tensors)


def has_contact_head(view: ModuleView) -> bool:
    """Tell whether the model has ESM's head for contacts: a weight for each head of each layer."""
    return any(node.name == "contact_head" for node in view.architecture.modules)


def has_windows(view: ModuleView) -> bool:
    """Tell whether any attention of the model sees a window only."""
    kinds = view.config.get("layer_types")
    if isinstance(kinds, list | tuple):
        return "sliding_attention" in kinds
    return isinstance(view.config.get("sliding_window"), int)


def has_two_kinds_of_layers(view: ModuleView) -> bool:
    """Tell whether some layers see the whole sequence and some a window."""
    return len(set(view.config.get("layer_types") or ())) > 1


def has_projected_embeddings(view: ModuleView) -> bool:
    """Tell whether the embeddings are mapped to the model's width before the first layer."""
    return any(node.name == "embeddings_project" for node in view.architecture.modules)


def follows_cross(view: ModuleView) -> bool:
    """Tell whether the module's layer has a cross-attention too."""
    layer = view.node.path.rpartition(".")[0]
    return any(node.name == "crossattention" for node in view.architecture.children(layer))


def tells_classes_apart(view: ModuleView) -> bool:
    """Tell whether the scores are of classes that exclude each other."""
    labels = view.config.get("id2label")
    kind = view.config.get("problem_type")
    return not (isinstance(labels, dict) and len(labels) == 1) and kind in (
        None,
        "single_label_classification",
    )


def scored_labels(view: ModuleView) -> int | None:
    """Return how many labels the configuration names, ``None`` if it names none."""
    labels = view.config.get("id2label")
    if isinstance(labels, dict):
        return len(labels)
    count = view.config.get("num_labels")
    return count if isinstance(count, int) else None


def shares_its_table(view: ModuleView) -> bool:
    """Tell whether encoder and decoder look tokens up in the table that both are given."""
    tables = [
        tensor
        for tensor in view.architecture.parameters
        if tensor.name.endswith(("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"))
    ]
    return len(tables) == 2 and all(
        table.tied_to is not None and table.tied_to.endswith("shared.weight") for table in tables
    )


def reads_target(node: ModuleNode, architecture: Architecture) -> bool:
    """Return whether a module is part of the decoder of an encoder-decoder."""
    parts = node.path.split(".")
    for place, part in enumerate(parts):
        holder = ".".join(parts[:place])
        if part == "decoder" and "encoder" in {c.name for c in architecture.children(holder)}:
            return True
    return False


def has_target(architecture: Architecture) -> bool:
    """Return whether a model reads two sequences: its head then scores the target."""
    return any(reads_target(node, architecture) for node in architecture.modules)


def _below(view: ModuleView) -> Iterator[ModuleNode]:
    path = view.node.path
    for node in view.architecture.modules:
        if not path or node.path == path or node.path.startswith(f"{path}."):
            yield node


def _chance(node: ModuleNode) -> float:
    """Return the largest chance of a drop that a module notes of itself."""
    named = [value for name, value in node.attributes.items() if "drop" in name]
    if DROPOUT in node.class_name:
        named += [node.attributes.get("p")]
    return max(
        (float(v) for v in named if isinstance(v, int | float) and not isinstance(v, bool)),
        default=0.0,
    )
