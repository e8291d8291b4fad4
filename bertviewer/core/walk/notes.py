"""What a learner asks at a step, and the answer in a line."""

from collections.abc import Sequence

from bertviewer.core.architecture.flow import Node
from bertviewer.core.walk.naming import (
    DISTANCE_EMBEDDING,
    EMBEDDING_NORM,
    FEED_FORWARD,
    POSITION_EMBEDDING,
    SEGMENT_EMBEDDING,
    SELF_ATTENTION,
    TOKEN_EMBEDDING,
)

TOKENS = "The token ids."
TARGET_TOKENS = "The token ids of the target."
SEGMENTS = "The sentence that each token belongs to: 0 or 1."
ONE_SEGMENT = "0 for every token: the model has only one segment type."
"""What is said of the segments instead, where the table has one row."""
SUM = "Element-wise sum of the vectors; nothing is learned here."
SINUSOIDS = (
    "Sines and cosines of the position are added to the token vectors; nothing is learned here."
)
RESIDUAL = "Residual connection: the block’s input is added to its output."
DISTANCES = "One vector per distance, used by the attention in every layer."
ASIDE = "Every layer reads the whole table."
AGAIN = "Shared with the source and counted there."
UNUSED = "Not used in a forward pass with these inputs."
LAST_NORM = "Normalises the sum that the last layer leaves unnormalised."
EACH_ITS_OWN = "Each layer has its own tensors, with the same shapes."

_NORM = "A scale and a bias per feature."
_SCALE = "A scale per feature."
_PER_HEAD = "The Q, K, V and output projections, divided among the heads."
_FEATURES_FIRST = " Inside the layers, the features come before the positions: [B, D, S]."
_NOTES = {
    TOKEN_EMBEDDING: "One vector per token id.",
    SEGMENT_EMBEDDING: "One vector per segment type.",
    POSITION_EMBEDDING: "One vector per position in the sequence.",
    DISTANCE_EMBEDDING: DISTANCES,
    "Dropout": "Active only in training; nothing is learned here.",
    SELF_ATTENTION: "A special form of attention; its module contains the projections.",
    FEED_FORWARD: "Widens each position’s vector and narrows it again.",
}


def of(name: str, node: Node | None) -> str:
    """Return the note of a step by its name; ``node`` is what it does, ``None`` for a dropout."""
    if node is not None and name in ("Norm", EMBEDDING_NORM):
        return _NORM if any(read.endswith("bias") for read in node.reads) else _SCALE
    if node is not None and name in ("Router", "Experts"):
        experts, chosen = (node.details.get(key) for key in ("experts", "chosen"))
        some = "some" if chosen is None else chosen
        if name == "Router":
            return f"Selects {some} of {experts} experts for each token."
        return f"{experts} feed-forward networks; each token is routed to {some} of them."
    return _NOTES.get(name, "")


def of_attention(nodes: Sequence[Node]) -> str:
    """Return the note of an attention with its projections."""
    linear = next((node for node in nodes if node.operation == "linear"), None)
    if linear is not None and len(linear.shape) == 3:
        width = linear.details.get("out_features")
        if linear.shape[1] == width != linear.shape[-1]:
            return _PER_HEAD + _FEATURES_FIRST
    return _PER_HEAD


def added_too(name: str) -> str:
    """Return what a sum says of a table whose vectors are added as well."""
    return f"The {name.lower()} is added as well."


def applied(stored: int, times: int) -> str:
    """Return the note of layers that are stored once and applied again."""
    if stored == 1:
        return f"The layer is stored once and applied {times} times."
    return f"Each layer is stored once; in total, layers are applied {times} times."


def tied_to(name: str) -> str:
    """Return the note of a step whose tensor is another's as well."""
    return f"Tied to {name} and counted there."
