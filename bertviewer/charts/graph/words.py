"""What is written on a node: short names, sizes, and the part that its hue tells."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.parts import NORMS, part_of, part_of_operation
from bertviewer.charts.theme import Part
from bertviewer.core.schema.flow import Edge, Flow, Node

ARROW, TIMES = "→", "×"

_NORM_NAMES = {"layer norm": "Norm", "rms norm": "RMS norm"}
_LETTERS = {"query": "Q", "key": "K", "value": "V"}
SIGNS = {
    "residual": "+",
    "add": "+",
    "mul": TIMES,
    "sub": "−",
    "div": "÷",
    "matmul": "@",
}
"""Operations that are drawn as a sign in a circle."""


class Words(Struct, frozen=True):
    """A node's texts.

    Attributes:
        title: what it is called on the canvas.
        subscript: behind the title, lower.
        remark: sizes or a class, below the title.
        part: what it is part of.
    """

    title: str
    subscript: str = ""
    remark: str = ""
    part: Part = "plain"


def words_of(flow: Flow) -> dict[str, Words]:
    """Return the texts of every node of a flow that is drawn by its id."""
    found = {node.id: _plain_words(node) for node in flow.nodes}
    found |= _projections(flow) | _angles(flow)
    return found | _heads(flow)


def widths_text(node: Node, sign: str = TIMES, parts: int = 1) -> str:
    """Return how many features a layer takes and gives to each of so many, as far as known."""
    taken, given = (node.details.get(key) for key in ("in_features", "out_features"))
    if not isinstance(taken, int) or not isinstance(given, int):
        return ""
    return f"{taken}{sign}{given // parts}"


def _plain_words(node: Node) -> Words:
    operation = node.operation or ""
    part = part_of_operation(operation) or _part_of_module(node)
    if operation in _NORM_NAMES:
        return Words(_NORM_NAMES[operation], part=part)
    if operation == "routing":
        return Words("router", remark=_chosen(node), part=part)
    if operation == "experts":
        count = node.details.get("experts")
        sizes = [node.details.get(key) for key in ("in_features", "inner_features")]
        remark = ARROW.join(map(str, sizes)) if all(sizes) else ""
        return Words(f"{count} experts" if count else "experts", remark=remark, part=part)
    if operation == "activation":
        return Words(str(node.details.get("activation") or node.name), part=part)
    if operation in ("linear", "embedding"):
        return Words(node.name, remark=widths_text(node) or node.class_name or "", part=part)
    name = node.name
    layers = node.repeat
    if layers is not None and layers.last > layers.first and name.endswith(str(layers.first)):
        name = f"{name}–{layers.last}"
    return Words(name, remark=(node.class_name or "") if node.kind == "module" else "", part=part)


def _chosen(node: Node) -> str:
    chosen, experts = node.details.get("chosen"), node.details.get("experts")
    return f"{chosen} of {experts}" if chosen and experts else ""


def _part_of_module(node: Node) -> Part:
    if node.kind not in ("module", "group"):
        return "plain"
    return part_of(node.name, node.class_name or "")


_SCALES = ("add", "mul", "div")
"""What a bias or a scale of its own does to queries, keys or values."""
_ASIDE = ("parameter", "constant")


def _projections(flow: Flow) -> dict[str, Words]:
    """Return the words of what makes Q, K and V, and of the layer behind an attention."""
    nodes = {node.id: node for node in flow.nodes}
    into: dict[str, list[Edge]] = {}
    out: dict[str, list[Edge]] = {}
    for edge in flow.edges:
        into.setdefault(edge.target, []).append(edge)
        out.setdefault(edge.source, []).append(edge)
    letters: dict[str, list[str]] = {}
    found: dict[str, Words] = {}
    for attention in flow.nodes:
        if attention.operation != "attention":
            continue
        for edge in into.get(attention.id, ()):
            maker = _linear_before(edge.source, nodes, into)
            if edge.role in _LETTERS and maker is not None:
                known = letters.setdefault(maker.id, [])
                if _LETTERS[edge.role] not in known:
                    known.append(_LETTERS[edge.role])
        users = [nodes[edge.target] for edge in out.get(attention.id, ()) if edge.target in nodes]
        if len(users) == 1 and users[0].operation == "linear":
            found[users[0].id] = Words("W", "O", widths_text(users[0]), "attention")
    for key, known in letters.items():
        found[key] = Words(
            " ".join(sorted(known, key="QKV".find)), "", widths_text(nodes[key]), "attention"
        )
    return found


def _linear_before(
    key: str, nodes: Mapping[str, Node], into: Mapping[str, Sequence[Edge]]
) -> Node | None:
    """Return the layer that gives a node its numbers, seen through norms, rotations and scales.

    And through what takes a piece of them, as where one layer gives queries, keys and values.
    """
    for _ in nodes:
        node = nodes.get(key)
        if node is None or node.operation == "linear":
            return node
        if node.operation not in (*NORMS, "rotary", "look-up", *_SCALES):
            return None
        data = [
            edge.source
            for edge in into.get(key, ())
            if edge.role not in ("position", "mask")
            and (edge.source not in nodes or nodes[edge.source].kind not in _ASIDE)
        ]
        if len(data) != 1:
            return None
        key = data[0]
    return None


def _angles(flow: Flow) -> dict[str, Words]:
    """Return the words of what only turns: models call it by many and long names."""
    turning = {node.id for node in flow.nodes if node.operation == "rotary"}
    targets: dict[str, set[str]] = {}
    for edge in flow.edges:
        targets.setdefault(edge.source, set()).add(edge.target)
    return {
        node.id: Words("angles")
        for node in flow.nodes
        if node.kind == "constant" and node.id in targets and targets[node.id] <= turning
    }


def _heads(flow: Flow) -> dict[str, Words]:
    """Return the words of the modules behind a stack of layers: they are the model's head."""
    stacks = [place for place, node in enumerate(flow.nodes) if node.repeat is not None]
    if not stacks or any(edge.role == "residual" for edge in flow.edges):
        return {}
    layers = {flow.nodes[place].class_name for place in stacks}
    found = {}
    for node in flow.nodes[stacks[-1] + 1 :]:
        words = _plain_words(node)
        if node.kind == "module" and words.part == "plain" and node.class_name not in layers:
            found[node.id] = replace(words, part="head")
    return found
