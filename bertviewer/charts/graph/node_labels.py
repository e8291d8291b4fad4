"""What is written on a node: short names, sizes, and the part that its hue tells.

Texts that have to fit: cut where they are too long, with a subscript, above a picture.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import Label, TextStyle, TextWidth, Typography
from bertviewer.charts.parts import NORMS, part_of, part_of_operation
from bertviewer.charts.theme import LARGE, Part
from bertviewer.core.schema.flow import Edge, Flow, Node

POSITION_BIAS = "position bias"


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


class NodeLabel(Struct, frozen=True):
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


def node_labels(flow: Flow) -> dict[str, NodeLabel]:
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


def _plain_words(node: Node) -> NodeLabel:
    operation = node.operation or ""
    part = part_of_operation(operation) or _part_of_module(node)
    if operation in _NORM_NAMES:
        return NodeLabel(_NORM_NAMES[operation], part=part)
    if operation == "routing":
        return NodeLabel("router", remark=_chosen(node), part=part)
    if operation == "experts":
        count = node.details.get("experts")
        sizes = [node.details.get(key) for key in ("in_features", "inner_features")]
        remark = ARROW.join(map(str, sizes)) if all(sizes) else ""
        return NodeLabel(f"{count} experts" if count else "experts", remark=remark, part=part)
    if operation == "activation":
        return NodeLabel(str(node.details.get("activation") or node.name), part=part)
    if operation in ("linear", "embedding"):
        return NodeLabel(node.name, remark=widths_text(node) or node.class_name or "", part=part)
    name = node.name
    layers = node.repeat
    if layers is not None and layers.last > layers.first and name.endswith(str(layers.first)):
        name = f"{name}–{layers.last}"
    return NodeLabel(
        name, remark=(node.class_name or "") if node.kind == "module" else "", part=part
    )


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


def _projections(flow: Flow) -> dict[str, NodeLabel]:
    """Return the words of what makes Q, K and V, and of the layer behind an attention."""
    nodes = {node.id: node for node in flow.nodes}
    into: dict[str, list[Edge]] = {}
    out: dict[str, list[Edge]] = {}
    for edge in flow.edges:
        into.setdefault(edge.target, []).append(edge)
        out.setdefault(edge.source, []).append(edge)
    letters: dict[str, list[str]] = {}
    found: dict[str, NodeLabel] = {}
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
            found[users[0].id] = NodeLabel("W", "O", widths_text(users[0]), "attention")
    for key, known in letters.items():
        found[key] = NodeLabel(
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


def _angles(flow: Flow) -> dict[str, NodeLabel]:
    """Return the words of what only turns: models call it by many and long names."""
    turning = {node.id for node in flow.nodes if node.operation == "rotary"}
    targets: dict[str, set[str]] = {}
    for edge in flow.edges:
        targets.setdefault(edge.source, set()).add(edge.target)
    return {
        node.id: NodeLabel("angles")
        for node in flow.nodes
        if node.kind == "constant" and node.id in targets and targets[node.id] <= turning
    }


def _heads(flow: Flow) -> dict[str, NodeLabel]:
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


ELLIPSIS = "…"
_DROP = 0.3
"""How far down a subscript is, as a part of its text's size."""
SUBSCRIPT = 0.72
"""How large a subscript is, as a part of its text's size."""
_MOST_TITLE, _LEAST_NAME, _BETWEEN = 900.0, 200.0, 12.0


def elided(text: str, room: float, measure: TextWidth, style: TextStyle, size: float) -> str:
    """Return a text that is no wider than the room: what is left out is in its middle."""
    if measure(text, style, size) <= room:
        return text
    least, most = 0, len(text)
    while least < most:
        kept = (least + most + 1) // 2
        if measure(_cut(text, kept), style, size) <= room:
            least = kept
        else:
            most = kept - 1
    return _cut(text, least)


def _cut(text: str, kept: int) -> str:
    first = (kept + 1) // 2
    return text[:first] + ELLIPSIS + text[len(text) - (kept - first) :]


def named(text: str, subscript: str, x: float, y: float, letters: Typography) -> tuple[Label, ...]:
    """Return a name in the middle of a place, with what stands behind it and lower."""
    size = letters.normal
    low = SUBSCRIPT * size
    if not subscript:
        return (Label(text, x, y, "strong", size),)
    behind = letters.measure(subscript, "strong", low)
    end = x + (letters.measure(text, "strong", size) - behind) / 2
    y_low = y + size * _DROP
    lower = Label(subscript, end, y_low, "strong", low, "start", is_subscript=True)
    return Label(text, x - behind / 2, y, "strong", size), lower


def title_of(
    flow: Flow, measure: TextWidth, parameters: int | None, room: float
) -> tuple[Label, ...]:
    """Return a title that begins at 0; a path too long is cut in its middle."""
    facts = [flow.class_name] if flow.path else []
    if flow.repeat is not None and flow.repeat.count > 1:
        facts.append(f"{flow.repeat.first}–{flow.repeat.last} are identical")
    if parameters is not None:
        facts.append("1 parameter" if parameters == 1 else f"{parameters:,} parameters")
    shapes = [
        f"[{TIMES.join(map(str, node.shape))}]"
        for kind in ("input", "output")
        for node in [next((each for each in flow.nodes if each.kind == kind), None)]
        if node is not None and node.shape
    ]
    if shapes:
        facts.append(" → ".join(shapes))
    text = " · ".join(facts)
    least = max(room, _MOST_TITLE) - measure(text, "text", LARGE) - _BETWEEN
    name = flow.path or flow.class_name
    name = elided(name, max(_LEAST_NAME, least), measure, "strong", LARGE)
    found = [Label(name, 0.0, 0.0, "strong", LARGE, "start")]
    if text:
        x = measure(name, "strong", LARGE) + _BETWEEN
        cut = elided(text, max(room, _MOST_TITLE), measure, "text", LARGE)
        found.append(Label(cut, x, 0.0, "text", LARGE, "start", "muted"))
    return tuple(found)
