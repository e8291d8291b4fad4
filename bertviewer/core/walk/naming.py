"""What a step is called: by what its node computes, and where it stands."""

from typing import Literal

from bertviewer.core.architecture.flow import Node
from bertviewer.core.walk.wires import Wires, is_data

Section = Literal["embeddings", "layer", "rest"]
"""Before the layers, in one of them, or after them."""

TOKEN_IDS, SEGMENT_IDS = "Token IDs", "Segment IDs"
TOKEN_EMBEDDING, SEGMENT_EMBEDDING = "Token embedding", "Segment embedding"
POSITION_EMBEDDING, DISTANCE_EMBEDDING = "Position embedding", "Distance embedding"
EMBEDDING_TABLE, EMBEDDING_NORM = "Embedding table", "Embedding norm"
SELF_ATTENTION, FEED_FORWARD = "Multi-head self-attention", "Feed-forward network"

_NAMES = {
    "layer norm": "Norm",
    "layer_norm": "Norm",
    "rms norm": "Norm",
    "feed-forward": FEED_FORWARD,
    "gated feed-forward": FEED_FORWARD,
    "routing": "Router",
    "experts": "Experts",
    "cat": "Concatenate",
    "mul": "Multiply",
    "sub": "Subtract",
    "div": "Divide",
    "matmul": "Multiply",
    "bmm": "Multiply",
}
_OF_EMBEDDINGS = {"linear": "projection", "dropout": "dropout"}


def name_of(node: Node | None, section: Section) -> str:
    """Return a step's name; of no node that of a dropout.

    What nobody knows has the name that its module has in the tree.
    """
    operation = "dropout" if node is None else node.operation
    if operation is None:
        return node.name if node is not None else ""
    plain = _NAMES.get(operation) or _sentence_case(operation)
    if section == "embeddings":
        if plain == "Norm":
            return EMBEDDING_NORM
        if operation in _OF_EMBEDDINGS:
            return f"Embedding {_OF_EMBEDDINGS[operation]}"
    return plain


def is_of_embeddings(name: str) -> bool:
    """Tell whether a step is an embedding table, or a step right after one."""
    return name.startswith("Embedding") or " embedding" in name


def table_of(node: Node, wires: Wires) -> tuple[str, str]:
    """Return what a table is called, and the input that it is looked up by; empty if none is."""
    for edge in wires.into(node):
        source = wires.source(edge)
        # Ids that were given another form before they came in are no input any more.
        is_ids = source.name.endswith("ids") and "position" not in source.name
        if is_ids or is_data(source):
            is_segment = "type" in source.name or "segment" in source.name
            return SEGMENT_EMBEDDING if is_segment else TOKEN_EMBEDDING, source.name
    # One vector for each pair of places is one for the distance between them.
    is_of_pairs = len(node.shape) > 2 and node.shape[0] == node.shape[1] > 1
    return DISTANCE_EMBEDDING if is_of_pairs else POSITION_EMBEDDING, ""


def _sentence_case(operation: str) -> str:
    words = operation.replace("_", " ")
    return words[:1].upper() + words[1:]
