"""Which modules are equal: in all that a formula may ask of them."""

from collections.abc import Hashable

from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.families.names import is_cross_attention

LAYER_NUMBER = "layer_idx"
"""The attribute of a module that says in which layer it is. No formula asks for it."""


def equal_modules(architecture: Architecture) -> dict[str, int]:
    """Return a number by each module's path, the same for modules that are equal.

    Two are equal if they and all below them have the same names, classes, attributes and tensors,
    and stand in a layer's cross-attention or not; a layer's own number does not count. A thousand
    layers have the numbers of one.
    """
    tensors: dict[str, list[Hashable]] = {node.path: [] for node in architecture.modules}
    for tensor in architecture.parameters:
        # A module that stands in two places has tensors in both, and is a node in one.
        path = next(path for path in ancestors(tensor.owner) if path in tensors)
        skip = len(path) + 1 if path else 0
        tensors[path].append((tensor.name[skip:], tensor.shape, tensor.tied_to))
    numbers: dict[Hashable, int] = {}
    found: dict[str, int] = {}
    for node in reversed(architecture.modules):  # what is below a module stands after it
        attributes = node.attributes
        if LAYER_NUMBER in attributes:
            attributes = {n: v for n, v in attributes.items() if n != LAYER_NUMBER}
        facts = (
            "" if node.repeat else node.name,
            node.class_name,
            # RoFormer's attention to an encoder is of the same class as its self-attention.
            is_cross_attention(node.path),
            repr(attributes),  # 1, 1.0 and True are equal, and written in other ways
            tuple(tensors[node.path]),
            tuple((child.name, found[child.path]) for child in architecture.children(node.path)),
        )
        found[node.path] = numbers.setdefault(facts, len(numbers))
    return found
