"""Positions of heads in an attention's weights, and in inputs and outputs of its modules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.analysis.attention_modules import (
    attention_paths,
    attentions_at,
    is_attention,
)
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode, TensorInfo, ancestors
from bertviewer.core.sources.families import PROJECTIONS, Projection

if TYPE_CHECKING:
    from bertviewer.core.checkpoints.reading import Span  # imports numpy

Axis = Literal["rows", "columns", "matrices"]
Part = Literal[Projection, "output", "head"]

_OUTPUTS = frozenset({"dense", "out_lin", "out_proj", "o_proj", "c_proj", "o", "Wo"})
_FUSED = frozenset(
    {
        *("c_attn", "Wqkv", "in_proj_weight", "in_proj_bias", "qkv", "qkv_proj"),
        *("query_key_value", "in_proj"),
    }
)
# GPT-NeoX, Bloom, Falcon and others; DeBERTa: the rows of a head follow each other.
_BY_HEAD = frozenset({"query_key_value", "in_proj"})
_QKV: tuple[Part, ...] = ("query", "key", "value")
# Attributes of attention modules.
_SIZES = ("attention_head_size", "head_dim", "key_value_proj_dim", "head_size")
_COUNTS = ("num_attention_heads", "num_heads", "n_heads", "n_head")
_KEY_COUNTS = ("num_key_value_heads", "num_kv_heads", "kv_heads")


class HeadLayout(Struct, frozen=True):
    """The positions of heads in a tensor.

    Attributes:
        axis: whether a head has rows or columns, or a matrix: an index of the second of four
            dimensions.
        parts: what the tensor is for each head; several in a fused projection.
        heads: the number of query heads.
        size: rows, columns or matrices of a head.
        key_heads: the number of key and value heads in a fused projection, if several query heads
            share one; else ``None``.
        is_by_head: whether the parts of one head follow each other; else all heads of one part do.
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
        """Return the number of heads of a part."""
        is_shared = self.key_heads is not None and self.parts[part] != "query"
        return self.key_heads if is_shared and self.key_heads is not None else self.heads

    def span(self, part: int, head: int) -> "Span":
        """Return the rows or columns of a query head in one of the parts.

        In a fused projection, these are the shared key or value head's.

        Raises:
            IndexError: there is no such part or head.
        """
        if not (0 <= part < len(self.parts) and 0 <= head < self.heads):
            raise IndexError(f"part {part}, head {head}")
        counts = [self.heads_of(number) for number in range(len(self.parts))]
        index = head * counts[part] // self.heads
        if self.is_by_head:
            # A group has one key head, one value head and the query heads that share them.
            widths = [count // min(counts) for count in counts]
            group, place = divmod(index, widths[part])
            start = group * sum(widths) + sum(widths[:part]) + place
        else:
            start = sum(counts[:part]) + index
        return start * self.size, (start + 1) * self.size


def head_layout(architecture: Architecture, tensor: TensorInfo) -> HeadLayout | None:
    """Return the positions of heads in a tensor; ``None`` if it is not divided by heads.

    Weights and biases of query, key and value are, and the weight of the output projection, whose
    input is all heads side by side.
    """
    owner = architecture.module(tensor.owner)
    attention = None if owner is None else _attention_around(architecture, owner)
    if owner is None or attention is None or not 1 <= len(tensor.shape) <= 2:
        return None
    size = _attribute(attention, _SIZES)
    count = _attribute(attention, _COUNTS)
    is_matrix = len(tensor.shape) == 2
    # The weight of GPT-2's Conv1D is [in, out], of all others [out, in].
    is_in_out = owner.class_name == "Conv1D"
    outputs, inputs = tensor.shape[-1 if is_in_out else 0], tensor.shape[0 if is_in_out else -1]
    axis: Axis = "columns" if is_in_out and is_matrix else "rows"
    if (part := PROJECTIONS.get(owner.name)) is not None:
        return _layout(axis, part, outputs, size, count)
    if not _FUSED.isdisjoint((owner.name, tensor.name.rpartition(".")[2])):
        return _fused(architecture, attention, owner, axis, outputs)
    if owner.name in _OUTPUTS and is_matrix:
        return _layout("rows" if is_in_out else "columns", "output", inputs, size, count)
    return None


def heads_in(architecture: Architecture, attention: ModuleNode) -> int:
    """Return the number of heads of an attention, 0 if unknown."""
    known = (_attribute(attention, _COUNTS), *_configured_counts(architecture))
    return next((count for count in known if count), 0)


def attention_of_tensor(architecture: Architecture, tensor: TensorInfo) -> str | None:
    """Return the path of the attention that a tensor is a part of, ``None`` for none."""
    owner = architecture.module(tensor.owner)
    found = None if owner is None else _attention_around(architecture, owner)
    return None if found is None else found.path


def recorded_heads(
    architecture: Architecture, path: str, shape: tuple[int, ...], *, is_output: bool
) -> HeadLayout | None:
    """Return the positions of heads in a module's recorded output or input; ``None`` without.

    Outputs of the query, key and value projections and the input of the output projection have all
    heads side by side. Of four dimensions, the second is heads if their number fits.

    Args:
        architecture: the model.
        path: the module.
        shape: of the recorded tensor.
        is_output: whether it is an output.
    """
    if len(shape) == 4:
        around = (architecture.module(above) for above in ancestors(path))
        counts = {_attribute(node, _COUNTS) for node in around if node is not None}
        counts.update(_configured_counts(architecture))
        is_by_head = shape[1] > 1 and shape[1] in counts
        return HeadLayout("matrices", ("head",), shape[1], 1) if is_by_head else None
    weight = next((t for t in architecture.parameters if t.name == f"{path}.weight"), None)
    layout = None if weight is None else head_layout(architecture, weight)
    if layout is None or not shape or is_output != (layout.parts != ("output",)):
        return None
    return replace(layout, axis="columns") if shape[-1] == layout.length else None


def _attention_around(architecture: Architecture, owner: ModuleNode) -> ModuleNode | None:
    """Return the attention that a module is in, or the only one of its attention block."""
    every = attention_paths(architecture)
    for above in ancestors(owner.path):
        node = architecture.module(above)
        if above in every:
            return node
        if above and node is not None and is_attention(node):
            found = attentions_at(architecture, above)
            return architecture.module(found[0]) if len(found) == 1 else None
    return None


def _fused(
    architecture: Architecture, attention: ModuleNode, owner: ModuleNode, axis: Axis, outputs: int
) -> HeadLayout | None:
    """Return the positions of heads in a fused projection of queries, keys and values."""
    size, count = _attribute(attention, _SIZES), _attribute(attention, _COUNTS)
    keys = _attribute(attention, _KEY_COUNTS)
    if owner.name == "qkv_proj" and keys is None:
        return None  # CodeGen and MiniMax have other orders than Phi-3
    if count is None and keys is not None:
        shared = _attribute(attention, ("num_key_value_groups",))
        count = None if shared is None else keys * shared
    if size is None:
        size = None if count is None or outputs % (3 * count) else outputs // (3 * count)
    elif count is None:
        count = outputs // (3 * size)
    if not size or not count:
        return None
    keys = count if keys is None else keys
    if count % keys:
        return None
    siblings = {node.name for node in architecture.children(attention.path)}
    if "q_attn" in siblings:  # GPT-2's cross-attention
        is_whole = outputs == 2 * count * size
        return HeadLayout(axis, ("key", "value"), count, size) if is_whole else None
    is_by_head = owner.name in _BY_HEAD or attention.attributes.get("multi_query") is False
    if outputs != (count + 2 * keys) * size:
        return None
    return HeadLayout(axis, _QKV, count, size, None if keys == count else keys, is_by_head)


def _layout(
    axis: Axis, part: Part, length: int, size: int | None, count: int | None
) -> HeadLayout | None:
    if size is None:
        size = None if count is None or length % count else length // count
    if not size or length % size:
        return None
    # Keys and values may have fewer heads than the attention.
    return HeadLayout(axis, (part,), length // size, size)


def _configured_counts(architecture: Architecture) -> list[int]:
    config: Mapping[str, object] = architecture.config
    found = (config.get(name) for name in _COUNTS)
    return [value for value in found if isinstance(value, int) and value > 0]


def _attribute(node: ModuleNode, names: tuple[str, ...]) -> int | None:
    """Return the first of a module's attributes that is a positive number."""
    for name in names:
        value = node.attributes.get(name)
        if isinstance(value, int) and value > 0:
            return value
    return None
