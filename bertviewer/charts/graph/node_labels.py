"""Labels of a graph's nodes, elided to fit, and the title of a drawing."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import Label, TextStyle, TextWidth, Typography
from bertviewer.charts.parts import NORMS, part_of, part_of_operation
from bertviewer.charts.theme import LARGE, Part
from bertviewer.core.schema.flow import Edge, Flow, Node

ARROW, TIMES = "→", "×"
POSITION_BIAS = "position bias"

SIGNS = {"residual": "+", "add": "+", "mul": TIMES, "sub": "−", "div": "÷", "matmul": "@"}
"""Operations that are drawn as an operator in a circle."""

_NORM_NAMES = {"layer norm": "Norm", "rms norm": "RMS norm"}
_PROJECTIONS = {"query": "Q", "key": "K", "value": "V"}
_ELEMENTWISE = ("add", "mul", "div")
"""Bias or scale of queries, keys or values."""
_CONSTANT = ("parameter", "constant")

_DROP, _SUBSCRIPT = 0.3, 0.72
"""How far down a subscript is and how large, as shares of the font size."""
_TITLE_WIDTH, _MIN_NAME, _TITLE_GAP = 900.0, 200.0, 12.0


class NodeLabel(Struct, frozen=True):
    """The texts of a node, and the part of the model that sets its hue.

    ``remark`` is below the title: sizes or a class.
    """

    title: str
    subscript: str = ""
    remark: str = ""
    part: Part = "plain"


def node_labels(flow: Flow) -> dict[str, NodeLabel]:
    """Return the labels of all nodes by their ids."""
    found = {node.id: _label(node) for node in flow.nodes}
    return found | _projection_labels(flow) | _angle_labels(flow) | _head_labels(flow)


def widths_text(node: Node, sign: str = TIMES, parts: int = 1) -> str:
    """Return a layer's input and output features, for one of some parts of the output.

    "" if they are unknown.
    """
    inputs, outputs = (node.details.get(key) for key in ("in_features", "out_features"))
    if not isinstance(inputs, int) or not isinstance(outputs, int):
        return ""
    return f"{inputs}{sign}{outputs // parts}"


def _label(node: Node) -> NodeLabel:
    operation, details = node.operation or "", node.details
    part = part_of_operation(operation)
    if part is None:
        is_module = node.kind in ("module", "group")
        part = part_of(node.name, node.class_name or "") if is_module else "plain"
    title, remark = node.name, ""
    if operation in _NORM_NAMES:
        title = _NORM_NAMES[operation]
    elif operation == "routing":
        chosen, experts = details.get("chosen"), details.get("experts")
        title, remark = "router", f"{chosen} of {experts}" if chosen and experts else ""
    elif operation == "experts":
        count = details.get("experts")
        sizes = [details.get(key) for key in ("in_features", "inner_features")]
        title = f"{count} experts" if count else "experts"
        remark = ARROW.join(map(str, sizes)) if all(sizes) else ""
    elif operation == "activation":
        title = str(details.get("activation") or title)
    elif operation in ("linear", "embedding"):
        remark = widths_text(node) or node.class_name or ""
    else:
        layers = node.repeat
        if layers is not None and layers.last > layers.first and title.endswith(f"{layers.first}"):
            title = f"{title}–{layers.last}"
        remark = (node.class_name or "") if node.kind == "module" else ""
    return NodeLabel(title, remark=remark, part=part)


def _projection_labels(flow: Flow) -> dict[str, NodeLabel]:
    """Return the labels of the layers before and after attentions: Q, K, V and W_O."""
    nodes = {node.id: node for node in flow.nodes}
    into: dict[str, list[Edge]] = {}
    for edge in flow.edges:
        into.setdefault(edge.target, []).append(edge)
    letters: dict[str, set[str]] = {}
    found: dict[str, NodeLabel] = {}
    for attention in (node for node in flow.nodes if node.operation == "attention"):
        for edge in into.get(attention.id, ()):
            layer = _linear_before(edge.source, nodes, into)
            if edge.role in _PROJECTIONS and layer is not None:
                letters.setdefault(layer, set()).add(_PROJECTIONS[edge.role])
        readers = [e.target for e in flow.edges if e.source == attention.id and e.target in nodes]
        if len(readers) == 1 and nodes[readers[0]].operation == "linear":
            sizes = widths_text(nodes[readers[0]])
            found[readers[0]] = NodeLabel("W", "O", sizes, "attention")
    for key, known in letters.items():
        title = " ".join(sorted(known, key="QKV".find))
        found[key] = NodeLabel(title, "", widths_text(nodes[key]), "attention")
    return found


def _linear_before(
    key: str, nodes: Mapping[str, Node], into: Mapping[str, Sequence[Edge]]
) -> str | None:
    """Return the linear layer whose output reaches a node through norms, rotations and scales."""
    for _ in nodes:  # the graph may have cycles
        operation = nodes[key].operation if key in nodes else None
        if operation == "linear":
            return key
        if operation not in (*NORMS, "rotary", "look-up", *_ELEMENTWISE):
            return None
        data = [
            edge.source
            for edge in into.get(key, ())
            if edge.role not in ("position", "mask")
            and (edge.source not in nodes or nodes[edge.source].kind not in _CONSTANT)
        ]
        if len(data) != 1:
            return None
        key = data[0]
    return None


def _angle_labels(flow: Flow) -> dict[str, NodeLabel]:
    """Return the labels of rotary angles, which models give many and long names."""
    rotary = {node.id for node in flow.nodes if node.operation == "rotary"}
    targets: dict[str, set[str]] = {}
    for edge in flow.edges:
        targets.setdefault(edge.source, set()).add(edge.target)
    return {
        node.id: NodeLabel("angles")
        for node in flow.nodes
        if node.kind == "constant" and node.id in targets and targets[node.id] <= rotary
    }


def _head_labels(flow: Flow) -> dict[str, NodeLabel]:
    """Return the labels of modules after a stack of layers: the head of the model."""
    stacks = [number for number, node in enumerate(flow.nodes) if node.repeat is not None]
    if not stacks or any(edge.role == "residual" for edge in flow.edges):
        return {}
    layers = {flow.nodes[number].class_name for number in stacks}
    labels = {
        node.id: _label(node)
        for node in flow.nodes[stacks[-1] + 1 :]
        if node.kind == "module" and node.class_name not in layers
    }
    return {
        key: replace(label, part="head") for key, label in labels.items() if label.part == "plain"
    }


def elided(text: str, room: float, measure: TextWidth, style: TextStyle, size: float) -> str:
    """Return a text that is at most as wide as the room, with an ellipsis in its middle."""
    if measure(text, style, size) <= room:
        return text
    least, most = 0, len(text)
    while least < most:
        kept = (least + most + 1) // 2
        if measure(_shortened(text, kept), style, size) <= room:
            least = kept
        else:
            most = kept - 1
    return _shortened(text, least)


def _shortened(text: str, kept: int) -> str:
    first = (kept + 1) // 2
    return f"{text[:first]}…{text[len(text) - (kept - first) :]}"


def name_labels(
    text: str, subscript: str, x: float, y: float, texts: Typography
) -> tuple[Label, ...]:
    """Return a centred name with its subscript."""
    size = texts.normal
    if not subscript:
        return (Label(text, x, y, "strong", size),)
    small = _SUBSCRIPT * size
    width = texts.measure(subscript, "strong", small)
    start = x + (texts.measure(text, "strong", size) - width) / 2
    lower = Label(subscript, start, y + size * _DROP, "strong", small, "start", is_subscript=True)
    return Label(text, x - width / 2, y, "strong", size), lower


def title_of(
    flow: Flow, measure: TextWidth, parameters: int | None, room: float
) -> tuple[Label, ...]:
    """Return the title of a drawing: path, class, parameters and shapes, beginning at x = 0."""
    facts = [flow.class_name] if flow.path else []
    if flow.repeat is not None and flow.repeat.count > 1:
        facts.append(f"{flow.repeat.first}–{flow.repeat.last} are identical")
    if parameters is not None:
        facts.append("1 parameter" if parameters == 1 else f"{parameters:,} parameters")
    ends = [
        next((node.shape for node in flow.nodes if node.kind == kind), ())
        for kind in ("input", "output")
    ]
    if any(ends):
        facts.append(" → ".join(f"[{TIMES.join(map(str, shape))}]" for shape in ends if shape))
    text, width = " · ".join(facts), max(room, _TITLE_WIDTH)
    left = max(_MIN_NAME, width - measure(text, "text", LARGE) - _TITLE_GAP)
    name = elided(flow.path or flow.class_name, left, measure, "strong", LARGE)
    title = Label(name, 0.0, 0.0, "strong", LARGE, "start")
    if not text:
        return (title,)
    x = measure(name, "strong", LARGE) + _TITLE_GAP
    cut = elided(text, width, measure, "text", LARGE)
    return title, Label(cut, x, 0.0, "text", LARGE, "start", "muted")
