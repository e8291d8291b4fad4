"""Which closed modules of a flow a walk goes into: those that hold more than one step."""

from bertviewer.core.architecture.flow import Flow, Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.walk.attentions import BLOCKS, NORMS
from bertviewer.core.walk.naming import Section

_HOLDING = BLOCKS | frozenset(NORMS)


class ClosedModules:
    """Answers what is in the closed modules of a model, by what they compute."""

    def __init__(self, flows: Flows, section: Section) -> None:
        self._flows = flows
        self._section = section

    def flows_in(self, node: Node, around: Flow) -> list[Flow]:
        """Return the flows of a module that holds several steps, and of its equals; else none."""
        found = self._closed(node)
        if found is None or found.path == around.path or self.is_attending(node):
            return []
        wanted = BLOCKS if self._section == "rest" else _HOLDING
        if self._section != "embeddings" and not self._holds(found, wanted):
            return []
        if node.repeat is None:
            return [found]
        holder = found.path.rpartition(".")[0]
        numbers = range(node.repeat.first, node.repeat.last + 1)
        flows = (self._flows.flow(f"{holder}.{number}") for number in numbers)
        return [flow for flow in flows if flow is not None]

    def is_attending(self, node: Node) -> bool:
        """Tell whether a closed module of a layer attends in a way of its own."""
        found = self._closed(node) if self._section == "layer" else None
        return found is not None and any(each.operation == "softmax" for each in found.nodes)

    def _closed(self, node: Node) -> Flow | None:
        if node.kind != "module" or node.operation is not None or node.path is None:
            return None
        return self._flows.flow(node.path)

    def _holds(self, flow: Flow, wanted: frozenset[str]) -> bool:
        """Tell whether a module has blocks of these kinds in it, in closed ones too."""
        for node in flow.nodes:
            inner = self._closed(node) if node.path != flow.path else None
            if node.operation in wanted or (inner is not None and self._holds(inner, wanted)):
                return True
        return False
