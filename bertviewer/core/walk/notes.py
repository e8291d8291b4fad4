"""What a learner asks at a step, and the answer in a line."""

from collections.abc import Sequence

from bertviewer.core.architecture.flow import Node
from bertviewer.core.walk.naming import EMBEDDING

TOKENS = "the ids of the tokens"
TARGET_TOKENS = "the ids of the target's tokens"
SEGMENTS = "which sentence each token belongs to: 0 or 1"
ONE_SEGMENT = "0 for each token: the model knows one kind of segment only"
"""What is said of the segments instead, where the table has one row."""
SUM = "The vectors are added feature by feature; nothing is learnt here."
SINUSOIDS = "Sines and cosines of the position, added to the tokens' vectors; nothing is learnt."
RESIDUAL = "What went into the block is added to what came out: the residual connection."
DISTANCES = "One vector for each distance; the attention of every layer reads them."
ASIDE = "Every layer reads it as a whole."
AGAIN = "The same vectors as the source's, counted there."
UNUSED = "Not used in a forward pass of these inputs."
LAST_NORM = "The last layer leaves its sum unnormed; this norms it."
EACH_ITS_OWN = "Each has tensors of its own, of the same shapes."

_NORM = "A scale and a bias for each feature."
_SCALE = "A scale for each feature."
_PER_HEAD = "Q, K and V projections and the output projection; the heads share them out."
_FEATURES_FIRST = " Inside the layers the features stand before the positions: [B, D, S]."
_NOTES = {
    f"{EMBEDDING}-Token": "One vector for each token.",
    f"{EMBEDDING}-Segment": "One vector for each kind of segment.",
    f"{EMBEDDING}-Position": "One vector for each place in the sequence.",
    f"{EMBEDDING}-Distance": DISTANCES,
    "Dropout": "Works in training only; nothing is learnt here.",
    "MultiHeadSelfAttention": "An attention of its own kind, with the projections in its module.",
    "FeedForward": "Widens each position, and narrows it.",
}


def of(name: str, node: Node | None) -> str:
    """Return the note of a step by its name; ``node`` is what it does, ``None`` for a dropout."""
    if node is not None and name in ("Norm", f"{EMBEDDING}-Norm"):
        return _NORM if any(read.endswith("bias") for read in node.reads) else _SCALE
    if node is not None and name in ("Router", "Experts"):
        experts, chosen = (node.details.get(key) for key in ("experts", "chosen"))
        some = "some" if chosen is None else chosen
        if name == "Router":
            return f"Chooses {some} of {experts} experts for each token."
        return f"{experts} feed-forward networks; each token goes through {some} of them."
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
    kind = name.removeprefix(f"{EMBEDDING}-").lower()
    return f"The {kind}'s vector is added too."


def applied(stored: int, times: int) -> str:
    """Return the note of layers that are stored once and applied again."""
    if stored == 1:
        return f"The layer is stored once and applied {times} times."
    return f"Each layer is stored once; layers are applied {times} times in all."


def tied_to(name: str) -> str:
    """Return the note of a step whose tensor is another's as well."""
    return f"tied to {name}, counted there"
