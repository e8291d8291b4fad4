"""The layers of a model: which nodes of its graph they are, and which are equal.

Also graphs of a model that is not traced: its modules in the order of the tree.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow, Flows, Node
from bertviewer.core.schema.modules import ancestors
from bertviewer.core.walkthrough.attention import BLOCKS
from bertviewer.core.walkthrough.edges import ENDS


class EqualLayers(Struct, frozen=True):
    """Layers of one list that compute the same with tensors of their own.

    Attributes:
        paths: the layers; the first is shown.
        calls: how often they are called in all.
        is_alone: whether no other layers of the list are shown.
    """

    paths: tuple[str, ...]
    calls: int
    is_alone: bool

    @property
    def title(self) -> str:
        """The title of the section that shows the first."""
        return "One layer" if self.is_alone else f"Layer {self.paths[0].rpartition('.')[2]}"

    @property
    def others_name(self) -> str:
        """The name of the step of the others: ``Layers 1–11``."""
        first, *others = (int(path.rpartition(".")[2]) for path in self.paths)
        if others[-1] - others[0] != len(others) - 1:
            text = f"{len(others)} other layers"
        else:
            text = f"Layers {others[0]}–{others[-1]}" if others[1:] else f"Layer {others[0]}"
        return text if self.is_alone else f"{text}, like layer {first}"


def with_single_layers(flows: Flows, nodes: Iterable[Node]) -> list[Node]:
    """Return a model's nodes with those of a layer that is alone in its list as one closed node."""
    found: dict[str, Node] = {}
    for node in nodes:
        path = None if node.is_layer or node.kind in ENDS else _layer_around(flows, node)
        # The result of a layer is that of its last node.
        closed = node if path is None else replace(node, kind="module", path=path, operation=None)
        found[path or node.id] = closed
    return list(found.values())


def _layer_around(flows: Flows, node: Node) -> str | None:
    """Return the outermost module of a list around a node that has blocks as a layer has."""
    for path in reversed(list(ancestors(node.path or ""))):
        is_numbered = "." in path and path.rpartition(".")[2].isdecimal()
        flow = flows.flow(path) if is_numbered else None
        if flow is not None and any(each.operation in BLOCKS for each in flow.nodes):
            return path
    return None


def equal_layers(
    architecture: Architecture, flows: Flows, nodes: Iterable[Node]
) -> dict[str, EqualLayers]:
    """Return the layers of a model by the path of each; equal ones of a list are one."""
    calls: Counter[str] = Counter()
    for node in nodes:
        for path in node.layers if node.is_layer else ():
            calls[path] += max(1, node.repeat.count // len(node.layers)) if node.repeat else 1
    kinds: dict[tuple[str, str, int], list[str]] = {}
    for path in calls:
        layer = architecture.module(path)
        kind = (flows.like.get(path, path), layer.parameters if layer else 0)
        kinds.setdefault((path.rpartition(".")[0], *kind), []).append(path)
    found: dict[str, EqualLayers] = {}
    for (holder, *_), paths in kinds.items():
        of_list = [each for (other, *_), each in kinds.items() if other == holder]
        repeated = [each for each in of_list if len(each) > 1 or calls[each[0]] > 1]
        times = sum(calls[path] for path in paths)
        is_alone = len(of_list) == 1 or repeated == [paths]
        found |= dict.fromkeys(paths, EqualLayers(tuple(paths), times, is_alone))
    return found


def module_flows(architecture: Architecture) -> Flows:
    """Return a graph of the whole model and of each layer, with nodes but no edges.

    A module that holds layers is opened; others with tensors are one node each.
    """
    layers = {node.path: node for node in architecture.modules if node.name.isdecimal()}
    opened = {path for node in layers.values() for path in ancestors(node.parent or "")}

    def nodes(path: str, *, is_open: bool) -> Iterator[Node]:
        held = {child.path: child.name for child in architecture.children(path)}
        own = [tensor.name for tensor in architecture.tensors_below(path) if tensor.owner == path]
        if own:
            name = path.rpartition(".")[2] or architecture.root.class_name
            yield Node(f"{path}.", "operation", name, path, reads=tuple(own))
        for child, name in held.items():
            reads = tuple(tensor.name for tensor in architecture.tensors_below(child))
            if is_open and child in opened - layers.keys():
                yield from nodes(child, is_open=True)
            elif reads:
                yield Node(child, "module", name, child, reads=reads)

    root = Flow("", architecture.root.class_name, tuple(nodes("", is_open=True)), ())
    flows, like = {"": root}, dict[str, str]()
    for path in (node.id for node in root.nodes if node.id in layers):
        repeat = layers[path].repeat
        first = f"{path.rpartition('.')[0]}.{repeat.first}" if repeat is not None else path
        if first == path:
            flows[path] = Flow(path, "", tuple(nodes(path, is_open=False)), ())
        else:
            like[path] = first
    return Flows(flows, like)
