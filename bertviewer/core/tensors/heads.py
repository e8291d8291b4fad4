"""Which rows or columns of an attention's weights belong to which head."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.analysis.attention_places import attention_paths, attentions_at
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, TensorInfo, ancestors

if TYPE_CHECKING:
    from bertviewer.core.checkpoints.reading import Span  # and with it numpy

Axis = Literal["rows", "columns", "matrices"]
Part = Literal["query", "key", "value", "output", "head"]

# What the families call them; each makes or takes all heads, one after the other.
_SINGLE: Mapping[str, Part] = {
    **dict.fromkeys(("query", "q_lin", "q_proj", "query_proj", "q", "q_attn"), "query"),
    **dict.fromkeys(("key", "k_lin", "k_proj", "key_proj", "k"), "key"),
    **dict.fromkeys(("value", "v_lin", "v_proj", "value_proj", "v"), "value"),
}
_OUTPUTS = frozenset({"dense", "out_lin", "out_proj", "o_proj", "c_proj", "o", "Wo"})
_FUSED = frozenset(
    {
        *("c_attn", "Wqkv", "in_proj_weight", "in_proj_bias", "qkv", "qkv_proj"),
        *("query_key_value", "in_proj"),
    }
)
# GPT-NeoX, Bloom, Falcon and others; and DeBERTa's: the rows of a head follow one another.
_BY_HEAD = frozenset({"query_key_value", "in_proj"})
_STACKED: tuple[Part, ...] = ("query", "key", "value")
_SIZES = ("attention_head_size", "head_dim", "key_value_proj_dim", "head_size")
_COUNTS = ("num_attention_heads", "num_heads", "n_heads", "n_head")
_KEY_COUNTS = ("num_key_value_heads", "num_kv_heads", "kv_heads")


class HeadLayout(Struct, frozen=True):
    """How the heads lie in a tensor.

    Attributes:
        axis: whether a head has rows or columns of it, or a matrix of its own, which is counted
            by the second dimension of four.
        parts: what it is for each head; several where they are stacked in one tensor.
        heads: how many heads there are.
        size: the rows or columns of one of them, or how many matrices.
        key_heads: how many heads of keys and values are stacked with those of queries, where
            several heads of queries share one; else ``None``.
        is_by_head: whether the parts of a head follow one another, and then the next head; else
            all heads of the first part come first.
    """

    axis: Axis
    parts: tuple[Part, ...]
    heads: int
    size: int
    key_heads: int | None = None
    is_by_head: bool = False

    @property
    def length(self) -> int:
        """The rows or columns of all heads and parts."""
        return sum(map(self.heads_of, range(len(self.parts)))) * self.size

    def heads_of(self, part: int) -> int:
        """Return how many heads a part has."""
        is_shared = self.key_heads is not None and self.parts[part] != "query"
        return self.key_heads if is_shared and self.key_heads is not None else self.heads

    def span(self, part: int, head: int) -> "Span":
        """Return the rows or columns of a head in one of the parts.

        Of keys and values that are stacked with queries it is the head that this one shares.

        Raises:
            IndexError: there is no such part or head.
        """
        if not (0 <= part < len(self.parts) and 0 <= head < self.heads):
            raise IndexError(f"part {part}, head {head}")
        group, place = divmod(head * self.heads_of(part), self.heads)
        if self.is_by_head:
            # So many heads of each part are in a group: several of queries, one of the others.
            least = min(map(self.heads_of, range(len(self.parts))))
            widths = [self.heads_of(number) // least for number in range(len(self.parts))]
            group, place = divmod(group, widths[part])
            start = group * sum(widths) + sum(widths[:part]) + place
        else:
            start = sum(map(self.heads_of, range(part))) + group
        return start * self.size, (start + 1) * self.size


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
        return _fused(architecture, attention, owner, makes, made)
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


def attention_of_tensor(architecture: Architecture, tensor: TensorInfo) -> str | None:
    """Return the path of the attention that a tensor is a part of, ``None`` if it is of none."""
    nodes = {node.path: node for node in architecture.modules}
    owner = nodes.get(tensor.owner)
    found = None if owner is None else _attention(architecture, nodes, owner)
    return None if found is None else found.path


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
    return replace(layout, axis="columns") if shape[-1] == layout.length else None


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


def _fused(
    architecture: Architecture, attention: ModuleNode, owner: ModuleNode, axis: Axis, made: int
) -> HeadLayout | None:
    """Return how heads lie in a tensor that makes queries, keys and values at once."""
    size, count = _number(attention, _SIZES), _number(attention, _COUNTS)
    keys = _number(attention, _KEY_COUNTS)
    if owner.name == "qkv_proj" and keys is None:
        return None  # CodeGen's and MiniMax's have orders of their own, unlike Phi-3's
    if count is None and keys is not None:
        shared = _number(attention, ("num_key_value_groups",))
        count = None if shared is None else keys * shared
    if size is None:
        size = None if count is None or made % (3 * count) else made // (3 * count)
    elif count is None:
        count = made // (3 * size)
    if not size or not count:
        return None
    keys = count if keys is None else keys
    if count % keys:
        return None
    siblings = {node.name for node in architecture.children(attention.path)}
    if "q_attn" in siblings:  # GPT-2's attention to an encoder
        is_whole = made == 2 * count * size
        return HeadLayout(axis, ("key", "value"), count, size) if is_whole else None
    is_by_head = owner.name in _BY_HEAD or attention.attributes.get("multi_query") is False
    if made != (count + 2 * keys) * size:
        return None
    return HeadLayout(axis, _STACKED, count, size, None if keys == count else keys, is_by_head)


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
