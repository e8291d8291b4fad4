"""Parts of a model that modules belong to, which set their hue everywhere."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from bertviewer.charts.theme import Part
from bertviewer.core.schema.modules import ModuleNode

NORMS = ("layer norm", "rms norm", "group norm", "batch norm", "instance norm")
"""Operations of graphs that are norms."""

_OF_OPERATIONS: Mapping[str, Part] = {
    **dict.fromkeys(NORMS, "norm"),
    "attention": "attention",
    "rotary": "attention",
    "position bias": "attention",
    "feed-forward": "feed-forward",
    "gated feed-forward": "feed-forward",
    "routing": "feed-forward",
    "experts": "feed-forward",
    "embedding": "embeddings",
    "residual": "residual",
}
"""Parts by recognised operation."""

_OF_ROLES: Mapping[str, Part] = {
    "self-attention": "attention",
    "attention block": "attention",
    "rotary positions": "attention",
    "layer norm": "norm",
    "RMS norm": "norm",
    "feed-forward": "feed-forward",
    "feed-forward, first half": "feed-forward",
    "feed-forward, second half": "feed-forward",
    "feed-forward sub-layer": "feed-forward",
    "experts": "feed-forward",
    "router": "feed-forward",
    "embeddings": "embeddings",
    "pooler": "head",
    "head transform": "head",
    "language-model head": "head",
    "head": "head",
    **dict.fromkeys(("layer", "stack", "base model", "task model", "loss"), "plain"),
}
"""Parts by the role of a module's formula."""

_HINTS: Sequence[tuple[str, Part]] = (
    ("norm", "norm"),
    ("rotary", "attention"),
    ("attention", "attention"),
    ("attn", "attention"),
    ("embed_out", "head"),
    ("embed", "embeddings"),
    ("mlp", "feed-forward"),
    ("feed_forward", "feed-forward"),
    ("feedforward", "feed-forward"),
    ("ffn", "feed-forward"),
    ("layerff", "feed-forward"),
    ("intermediate", "feed-forward"),
    ("pooler", "head"),
    ("classifier", "head"),
    ("head", "head"),
)
"""Parts by substrings of names and classes, for other modules; the first match counts."""
_NAME_HINTS: Sequence[tuple[str, Part]] = (
    *_HINTS,
    *((name, "feed-forward") for name in ("moe", "expert", "fc1", "fc2", "linear1", "linear2")),
    ("qa_outputs", "head"),
)
"""Further substrings of names only, because classes may contain them: ``Qwen2MoeModel``."""

_TASK_MODEL = re.compile(r"For[A-Z]|LMHead|DoubleHeads")
"""In the classes of models with a head."""


def part_of_operation(operation: str) -> Part | None:
    """Return the part of an operation, ``None`` for others."""
    return _OF_OPERATIONS.get(operation)


@lru_cache(maxsize=4096)
def part_of(
    name: str, class_name: str, role: str = "", above: str = "", around: Part = "plain"
) -> Part:
    """Return the part of a module.

    Args:
        name: the last component of its path.
        class_name: its class.
        role: the role of its formula, "" if unknown.
        above: the class of its parent, "" if unknown.
        around: the part of its parent, which is inherited if nothing else is known.
    """
    if not name:
        return "plain"  # the whole model
    if role in _OF_ROLES:
        return _OF_ROLES[role]
    found = _hinted(name, _NAME_HINTS) or (None if role else _hinted(class_name, _HINTS))
    if found == "norm" or (found is not None and around == "plain"):
        return found
    if around != "plain":
        return around
    if role == "embedding":
        return "embeddings"
    is_small = bool(role) and role not in ("dropout", "identity", "composition")
    if is_small and _TASK_MODEL.search(above):
        return "head"
    return "feed-forward" if role == "activation" and "Layer" in above else "plain"


def parts_of(modules: Iterable[ModuleNode]) -> dict[str, Part]:
    """Return the part of each module by its path; ``modules`` has parents before children."""
    parts: dict[str, Part] = {}
    classes: dict[str, str] = {}
    for node in modules:
        above = node.parent or ""
        parts[node.path] = part_of(
            *(node.name, node.class_name, node.role, classes.get(above, "")),
            parts.get(above, "plain"),
        )
        classes[node.path] = node.class_name
    return parts


def _hinted(text: str, hints: Sequence[tuple[str, Part]]) -> Part | None:
    lowered = text.lower()
    return next((part for hint, part in hints if hint in lowered), None)
