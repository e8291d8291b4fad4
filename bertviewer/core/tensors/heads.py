"""Which rows or columns of an attention's weights belong to which head."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from bertviewer.core.analysis.attention_places import attention_paths, attentions_at
from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.architecture.tensor_info import TensorInfo
from bertviewer.core.frozen import frozen

if TYPE_CHECKING:
    from bertviewer.core.weights.reading import Span  # and with it numpy

Axis = Literal["rows", "columns", "matrices"]
Part = Literal["query", "key", "value", "output", "head"]

# What the families call them; each makes or takes all heads, one after the other.
_SINGLE: Mapping[str, Part] = {
    **dict.fromkeys(("query", "q_lin", "q_proj", "query_proj", "q", "q_attn"), "query"),
    **dict.fromkeys(("key", "k_lin", "k_proj", "key_proj", "k"), "key"),
    **dict.fromkeys(("value", "v_lin", "v_proj", "value_proj", "v"), "value"),
}
_OUTPUTS = frozenset({"dense", "out_lin", "out_proj", "o_proj", "c_proj", "o", "Wo"})
# DeBERTa's in_proj is left out: it has query, key and value of one head side by side.
_FUSED = frozenset({"c_attn", "Wqkv", "in_proj_weight", "in_proj_bias"})
_FUSED_PARTS: Mapping[int, tuple[Part, ...]] = {
    3: ("query", "key", "value"),
    2: ("key", "value"),
}
_SIZES = ("attention_head_size", "head_dim", "key_value_proj_dim")
_COUNTS = ("num_attention_heads", "num_heads", "n_heads", "n_head")


@frozen
class HeadLayout:
    """How the heads lie in a tensor.

    Attributes:
        axis: whether a head has rows or columns of it, or a matrix of its own, which is counted
            by the second dimension of four.
        parts: what it is for each head; several where they are stacked in one tensor.
        heads: how many heads there are.
        size: the rows or columns of one of them, or how many matrices.
    """

    axis: Axis
    parts: tuple[Part, ...]
    heads: int
    size: int

    def span(self, part: int, head: int) -> "Span":
        """Return the rows or columns of a head in one of the parts.

        Raises:
            IndexError: there is no such part or head.
        """
        if not (0 <= part < len(self.parts) and 0 <= head < self.heads):
            raise IndexError(f"part {part}, head {head}")
        start = (part * self.heads + head) * self.size
        return start, start + self.size


def head_layout(architecture: Architecture, tensor: TensorInfo) -> HeadLayout | None:
    """Return how the heads lie in a tensor; ``None`` if it is not divided by heads.

    Weights and biases of query, key and value are, and the weight of the attention's output: that
    takes the heads' results side by side.
    """
    nodes = {node.path: node for node in architecture.modules}
    owner = nodes.get(tensor.owner)
    attention = None if owner is None else _attention(architecture, nodes, owner)
    if owner is None or attention is None or not 1 <= len(tensor.shape) <= 2:
        return None
    size = _number(attention, _SIZES)
    count = _number(attention, _COUNTS)
    name = tensor.name.rpartition(".")[2]
    is_in_out = owner.class_name == "Conv1D"  # its weight is [in, out]
    made = tensor.shape[-1] if is_in_out else tensor.shape[0]
    makes: Axis = "columns" if is_in_out and len(tensor.shape) == 2 else "rows"
    if (part := _SINGLE.get(owner.name)) is not None:
        return _layout(makes, (part,), made, size, count)
    if owner.name in _FUSED or name in _FUSED:
        if size is None or count is None or made % (size * count):
            return None
        parts = _FUSED_PARTS.get(made // (size * count), ())
        return HeadLayout(makes, parts, count, size) if parts else None
    if owner.name in _OUTPUTS and len(tensor.shape) == 2:
        takes: Axis = "rows" if is_in_out else "columns"
        taken = tensor.shape[0 if is_in_out else 1]
        return _layout(takes, ("output",), taken, size, count)
    return None


def heads_in(architecture: Architecture, attention: ModuleNode) -> int:
    """Return how many heads an attention has, 0 where that is not known."""
    if (count := _number(attention, _COUNTS)) is not None:
        return count
    given = (architecture.config.get(name) for name in _COUNTS)
    return next((value for value in given if isinstance(value, int) and value > 0), 0)


def seen_heads(
    architecture: Architecture, path: str, shape: tuple[int, ...], *, is_given: bool
) -> HeadLayout | None:
    """Return how the heads lie in what a module took or gave in a run; ``None`` if they do not.

    What the projections of query, key and value give has the heads side by side, and so has what
    the output's projection takes. The second of four dimensions is heads, if there are as many.
    """
    nodes = {node.path: node for node in architecture.modules}
    if len(shape) == 4:
        around = (nodes[above] for above in ancestors(path) if above in nodes)
        counts = [count for node in around if (count := _number(node, _COUNTS)) is not None]
        config = (architecture.config.get(name) for name in _COUNTS)
        counts += [value for value in config if isinstance(value, int)]
        is_by_head = shape[1] > 1 and shape[1] in counts
        return HeadLayout("matrices", ("head",), shape[1], 1) if is_by_head else None
    weight = next((t for t in architecture.parameters if t.name == f"{path}.weight"), None)
    layout = None if weight is None else head_layout(architecture, weight)
    if layout is None or not shape or is_given != (layout.parts != ("output",)):
        return None
    fits = shape[-1] == len(layout.parts) * layout.heads * layout.size
    return HeadLayout("columns", layout.parts, layout.heads, layout.size) if fits else None


def _attention(
    architecture: Architecture, nodes: Mapping[str, ModuleNode], owner: ModuleNode
) -> ModuleNode | None:
    """Return the attention that a module is a part of.

    That is one around it or, for a module beside it, the only one in an attention block.
    """
    every = attention_paths(architecture)
    for above in ancestors(owner.path):
        if above in every:
            return nodes[above]
        if above and "Attention" in nodes[above].class_name:
            found = attentions_at(architecture, above)
            return nodes[found[0]] if len(found) == 1 else None
    return None


def _layout(
    axis: Axis, parts: tuple[Part, ...], whole: int, size: int | None, count: int | None
) -> HeadLayout | None:
    if size is None:
        size = None if count is None or whole % count else whole // count
    if not size or whole % size:
        return None
    # Of keys and values there may be fewer heads than of queries.
    return HeadLayout(axis, parts, whole // size, size)


def _number(node: ModuleNode, names: tuple[str, ...]) -> int | None:
    for name in names:
        value = node.attributes.get(name)
        if isinstance(value, int) and value > 0:
            return value
    return None
