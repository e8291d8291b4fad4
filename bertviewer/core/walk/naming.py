"""What a walk calls the modules, and which of them it opens instead of taking them in one step."""

import re

from bertviewer.core.architecture import Architecture, ModuleNode, ancestors
from bertviewer.core.walk.plans import BASE_PLANS, LAYER_PLANS, PROJECTIONS

_TABLES = (
    ("Embedding-Position", re.compile(r"position|wpe")),
    ("Embedding-Segment", re.compile(r"token_type|segment")),
    ("Embedding-Token", re.compile(r"word|token|wte|shared|embed_in|^embeddings?$")),
)


class StepNames:
    """Answers what a module is in a walk, from its class, its name and its place.

    ``has_two_sides`` says that the model has an encoder and a decoder.
    """

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture
        self._nodes = {node.path: node for node in architecture.modules}
        # What is to be seen by itself: layers, tables, and what has a plan.
        shown = (
            node
            for node in architecture.modules
            if node.class_name in (*BASE_PLANS, *LAYER_PLANS)
            or self.is_in_list(node)
            or self.is_table(node)
        )
        self._opened = {"", *(above for node in shown for above in ancestors(node.parent or ""))}
        names = {name for path in self._opened for name in path.split(".")}
        self.has_two_sides = {"encoder", "decoder"} <= names

    def is_opened(self, node: ModuleNode) -> bool:
        """Tell whether something in a module is to be seen by itself."""
        return node.path in self._opened

    def is_in_list(self, node: ModuleNode) -> bool:
        """Tell whether a module is one of a list, as layers are."""
        parent = None if node.parent is None else self._nodes[node.parent]
        return parent is not None and parent.class_name == "ModuleList" and node.name.isdecimal()

    def is_table(self, node: ModuleNode) -> bool:
        """Tell whether a module is a single table of vectors."""
        return "Embedding" in node.class_name and not self._architecture.children(node.path)

    def name_of(self, node: ModuleNode) -> str:
        """Return what a teacher calls the step that is this module."""
        if self.is_table(node):
            for name, pattern in _TABLES:
                if pattern.search(node.name):
                    return name
        if node.name in PROJECTIONS:
            return "Embedding-Projection"
        if node.name == "pooler":
            return "Pooler"
        return "Norm" if node.class_name.endswith("Norm") else node.class_name

    def side_of(self, path: str) -> str:
        """Return ``encoder`` or ``decoder``; nothing where there are no two sides."""
        names = path.split(".")
        if not self.has_two_sides:
            return ""
        return next((side for side in ("encoder", "decoder") if side in names), "")
