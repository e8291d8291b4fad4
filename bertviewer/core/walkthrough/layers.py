"""The layers of a model: which nodes of its graph they are, and which are equal."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.frozen import frozen
from bertviewer.core.walkthrough.attention import BLOCKS
from bertviewer.core.walkthrough.edges import ENDS


@frozen
class EqualLayers:
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
        return "One layer" if self.is_alone else f"Layer {_number(self.paths[0])}"

    @property
    def others_name(self) -> str:
        """The name of the step of the others: ``Layers 1–11``."""
        paths = self.paths[1:]
        first, last = _number(paths[0]), _number(paths[-1])
        text = f"Layers {first}–{last}" if len(paths) > 1 else f"Layer {first}"
        if last - first != len(paths) - 1:
            text = f"{len(paths)} other layers"
        return text if self.is_alone else f"{text}, like layer {_number(self.paths[0])}"


def with_single_layers(flows: Flows, nodes: Iterable[Node]) -> list[Node]:
    """Return a model's nodes with those of a layer that is alone in its list as one closed node."""
    found: list[Node] = []
    for node in nodes:
        path = None if node.is_layer else _layer_around(flows, node)
        if path is None:
            found.append(node)
        elif found and found[-1].path == path:
            found[-1] = replace(found[-1], id=node.id, shape=node.shape)  # its result is the last's
        else:
            found.append(replace(node, kind="module", path=path, operation=None))
    return found


def _layer_around(flows: Flows, node: Node) -> str | None:
    """Return the outermost module of a list around a node that has blocks as a layer has."""
    for path in () if node.kind in ENDS else reversed(list(ancestors(node.path or ""))):
        is_numbered = "." in path and path.rpartition(".")[2].isdecimal()
        flow = flows.flow(path) if is_numbered else None
        if flow is not None and any(each.operation in BLOCKS for each in flow.nodes):
            return path
    return None


def equal_layers(
    architecture: Architecture, flows: Flows, nodes: Sequence[Node]
) -> dict[str, EqualLayers]:
    """Return the layers of a model by the path of each; equal ones of a list are one."""
    calls: dict[str, int] = {}
    for node in nodes:
        for path in node.layers if node.is_layer else ():
            count = 1 if node.repeat is None else max(1, node.repeat.count // len(node.layers))
            calls[path] = calls.get(path, 0) + count
    lists: dict[str, dict[tuple[str, int], list[str]]] = {}
    for path in calls:
        layer = architecture.module(path)
        kind = (flows.like.get(path, path), layer.parameters if layer else 0)
        lists.setdefault(path.rpartition(".")[0], {}).setdefault(kind, []).append(path)
    found: dict[str, EqualLayers] = {}
    for by_kind in lists.values():
        kinds = list(by_kind.values())
        repeated = [paths for paths in kinds if len(paths) > 1 or calls[paths[0]] > 1]
        for paths in kinds:
            is_alone = len(kinds) == 1 or repeated == [paths]
            times = sum(calls[path] for path in paths)
            found |= dict.fromkeys(paths, EqualLayers(tuple(paths), times, is_alone))
    return found


def _number(path: str) -> int:
    return int(path.rpartition(".")[2])
