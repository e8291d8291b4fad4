"""The walk that the module tree alone can tell: modules in its order, under their own names."""

from collections.abc import Sequence

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.walk import notes
from bertviewer.core.walk.ledger import Ledger
from bertviewer.core.walk.parts import Part, letters_of_stack, others_of, others_part, rest_part
from bertviewer.core.walk.walk import WalkStep


class TreeWalker:
    """Goes through the modules once, from the root on; what holds layers is opened."""

    def __init__(self, architecture: Architecture) -> None:
        # Of a checkpoint without a configuration only names are known, and they stand in order.
        is_known = "model_type" in architecture.config
        title = "Embeddings" if is_known else "Modules by name"
        self.parts = [Part("embeddings", title, is_planned=False)]
        self._architecture = architecture
        self._ledger = Ledger(architecture)
        self._opened = {
            above
            for node in architecture.modules
            if node.path.rpartition(".")[2].isdecimal()
            for above in _above(node.path)
        }

    def walk(self) -> list[Part]:
        """Return the parts of the walk."""
        self._visit(self._architecture.root)
        for tensor in self._ledger.left():
            self._row(tensor.owner, own=True)
        return self.parts

    def _visit(self, node: ModuleNode) -> None:
        if node.path and node.path not in self._opened:
            self._row(node.path)
            return
        self._row(node.path, own=True)
        children = self._architecture.children(node.path)
        for index, child in enumerate(children):
            if child.repeat is None:
                self._visit(child)
            elif child.repeat.first == int(child.name):
                self._layers(children[index : index + child.repeat.count])

    def _layers(self, layers: Sequence[ModuleNode]) -> None:
        template, others = layers[0], list(layers[1:])
        letters = letters_of_stack(self._architecture, template, len(layers))
        part = Part("layer", "One layer", is_planned=False, times=len(layers), letters=letters)
        self.parts.append(part)
        self._row(template.path, own=True)
        for child in self._architecture.children(template.path):
            self._row(child.path)
        part.expected = template.parameters
        if others:
            nothing = (None, None)
            self.parts.append(others_part(is_planned=False))
            step = others_of(part, others, self._ledger, nothing, notes.EACH_ITS_OWN)
            self.parts[-1].add(step)
        self.parts.append(rest_part(is_planned=False))

    def _row(self, path: str, *, own: bool = False) -> None:
        """Take a module in one step; there is none for a module without tensors."""
        tied = ""
        if not own:
            below = self._architecture.tensors_below(path)
            tied = next((t.tied_to for t in below if t.tied_to is not None), None) or ""
        count = self._ledger.take_own(path) if own else self._ledger.take([path])
        if count.parameters or tied:
            name = path.rpartition(".")[2] or self._architecture.root.class_name
            note = notes.tied_to(tied) if tied else ""
            self.parts[-1].add(WalkStep(name, path, None, None, count, note))


def _above(path: str) -> list[str]:
    names = path.split(".")
    return [".".join(names[:count]) for count in range(1, len(names))]
