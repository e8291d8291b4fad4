"""What a step is called: by what its node computes, and where it stands."""

import re
from typing import Literal

from bertviewer.core.architecture.flow import Node
from bertviewer.core.walk.wires import Wires, is_data

Section = Literal["embeddings", "layer", "rest"]
"""Before the layers, in one of them, or after them."""

EMBEDDING = "Embedding"

_NAMES = {
    "layer norm": "Norm",
    "layer_norm": "Norm",
    "rms norm": "Norm",
    "feed-forward": "FeedForward",
    "gated feed-forward": "FeedForward",
    "routing": "Router",
    "experts": "Experts",
    "cat": "Concatenate",
    "mul": "Multiply",
    "sub": "Subtract",
    "div": "Divide",
    "matmul": "Multiply",
    "bmm": "Multiply",
}
_OF_EMBEDDINGS = {"linear": "Projection"}
_WORD_ENDS = re.compile(r"[ _-]+")


def name_of(node: Node | None, section: Section) -> str:
    """Return a step's name; of no node that of a dropout.

    What nobody knows has the name that its module has in the tree.
    """
    operation = "dropout" if node is None else node.operation
    if operation is None:
        return node.name if node is not None else ""
    plain = _NAMES.get(operation) or _camel(operation)
    if section == "embeddings":
        if plain in ("Norm", "Dropout"):
            return f"{EMBEDDING}-{plain}"
        if operation in _OF_EMBEDDINGS:
            return f"{EMBEDDING}-{_OF_EMBEDDINGS[operation]}"
    return plain


def table_of(node: Node, wires: Wires) -> tuple[str, str]:
    """Return what a table is called, and the input that it is looked up by; empty if none is."""
    for edge in wires.into(node):
        source = wires.source(edge)
        # Ids that were given another form before they came in are no input any more.
        is_ids = source.name.endswith("ids") and "position" not in source.name
        if is_ids or is_data(source):
            kind = "Segment" if "type" in source.name or "segment" in source.name else "Token"
            return f"{EMBEDDING}-{kind}", source.name
    # One vector for each pair of places is one for the distance between them.
    is_of_pairs = len(node.shape) > 2 and node.shape[0] == node.shape[1] > 1
    return f"{EMBEDDING}-{'Distance' if is_of_pairs else 'Position'}", ""


def _camel(words: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in _WORD_ENDS.split(words))
