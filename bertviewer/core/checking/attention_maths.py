"""Scaled dot-product attention in several heads (Vaswani et al. 2017, section 3.2)."""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.arithmetic import affine, softmax
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError
from bertviewer.core.frozen import frozen

HIDDEN = -1e4
"""What is added to a score so that nothing is left of it is at most that: families differ."""


@frozen
class Projection:
    """One of W_Q, W_K and W_V as [out, in]; head h has the rows h·d to h·d + d - 1."""

    weight: Tensor
    bias: Tensor | None

    @classmethod
    def of(cls, module: Evaluator) -> "Projection":
        """Read a linear layer."""
        return cls(module.weight(), module.tensor("bias"))

    def rows(self, start: int, count: int) -> "Projection":
        """Return some of the rows."""
        bias = None if self.bias is None else self.bias[start : start + count]
        return Projection(self.weight[start : start + count], bias)

    def split(self, heads: int, head: int | None) -> tuple["Projection", int]:
        """Return one head's rows or all of them, and how many heads that is."""
        if head is None:
            return self, heads
        size = self.weight.shape[0] // heads
        return self.rows(head * size, size), 1


@frozen
class Rotation:
    """Turns vectors of every head by angles that grow with the position (Su et al. 2021, 3.2.2).

    ``cosine`` and ``sine`` are [B or 1, S, d]. A pair of features is (i, i + d/2), as in Llama, or
    with ``neighbours`` (2i, 2i + 1), as in the paper. ``values`` says that values turn as well.
    """

    cosine: Tensor
    sine: Tensor
    neighbours: bool = False
    values: bool = False

    def turn(self, x: Tensor) -> Tensor:
        """Turn [B, A, S, d]."""
        cosine, sine = self.cosine[:, None], self.sine[:, None]
        if self.neighbours:
            turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
        else:
            half = x.shape[-1] // 2
            turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * cosine + turned * sine


@frozen
class TalkingHeads:
    """Mixes the heads' scores and then their probabilities: [A, A] each (Shazeer et al. 2020)."""

    scores: Tensor
    probabilities: Tensor


@frozen
class Attention:
    """An attention, however a module stores it, and what it is applied to.

    ``x`` [B, S, D] makes the queries, ``keys`` and ``values`` [B, S', D] the rest. ``mask`` is
    true or 0 where a position may be looked at; ``bias`` is added to the scores. Several heads
    of queries share one of keys where there are fewer of those. ``norms`` are applied to queries
    and keys before the ``rotation``. With ``talk`` no head can be calculated without the others.
    What a position gives is multiplied by ``shown`` [B, S, 1], 0 for padding, where there is one.
    """

    query: Projection
    key: Projection
    value: Projection
    heads: int
    key_heads: int
    scale: float
    x: Tensor
    keys: Tensor
    values: Tensor
    mask: Given = None
    bias: Given = None
    is_causal: bool = False
    rotation: Rotation | None = None
    norms: tuple[Evaluator, Evaluator] | None = None
    talk: TalkingHeads | None = None
    shown: Given = None

    def attend(self, module: Evaluator, head: int | None = None) -> tuple[Tensor, Tensor]:
        """Return the probabilities [B, A, S, S'] and the heads side by side [B, S, A·d].

        With ``head`` only that one is calculated, from its own rows of the three weights.
        """
        weights = self.weights(module, head)
        v = self._shared(module, self.values, self.value, head)
        if self.rotation is not None and self.rotation.values:
            v = module.round(self.rotation.turn(v))
        mixed = (weights @ v).transpose(1, 2)
        mixed = mixed.reshape(*mixed.shape[:2], -1)
        return weights, module.round(mixed if self.shown is None else mixed * self.shown)

    def weights(self, module: Evaluator, head: int | None = None) -> Tensor:
        """Return the probabilities alone [B, A, S, S']: they take no values."""
        if self.talk is not None and head is not None:
            return self.weights(module)[:, head : head + 1]
        q = in_heads(module, self.x, *self.query.split(self.heads, head))
        k = self._shared(module, self.keys, self.key, head)
        if self.norms is not None:
            q, k = self.norms[0](q), self.norms[1](k)
        if self.rotation is not None:
            q, k = (module.round(self.rotation.turn(side)) for side in (q, k))
        scores = module.round(q @ k.transpose(-1, -2)) * self.scale
        if self.bias is not None:
            scores = module.round(scores + _of_head(self.bias, head))
        if self.talk is not None:
            scores = module.round(_mixed(self.talk.scores, scores))
        scores = _masked(scores, None if self.mask is None else _of_head(self.mask, head))
        if self.is_causal:
            scores = scores.masked_fill(_later(*scores.shape[-2:]), -torch.inf)
        weights = module.round(softmax(scores))
        return (
            weights if self.talk is None else module.round(_mixed(self.talk.probabilities, weights))
        )

    def hidden(self) -> Tensor | None:
        """Return where masks hide keys from queries, to be broadcast to [B, A, S, S']."""
        found = _later(self.x.shape[1], self.keys.shape[1]) if self.is_causal else None
        for table in (self.mask, self.bias):
            if table is not None:
                hides = ~table if table.dtype == torch.bool else table <= HIDDEN
                found = hides if found is None else found | hides
        return found

    def _shared(
        self, module: Evaluator, x: Tensor, projection: Projection, head: int | None
    ) -> Tensor:
        """Project keys or values, and give each head of queries its own: [B, A, S', d]."""
        shared = self.heads // self.key_heads
        if head is not None:
            return in_heads(module, x, *projection.split(self.key_heads, head // shared))
        side = in_heads(module, x, projection, self.key_heads)
        return side if shared == 1 else side.repeat_interleave(shared, dim=1)


def separate(
    module: Evaluator,
    names: tuple[str, str, str],
    heads: int,
    x: Tensor,
    source: Given = None,
    mask: Given = None,
    **more: Any,
) -> Attention:
    """Read a module that has one linear layer for each of query, key and value."""
    query, key, value = (Projection.of(module.below(name)) for name in names)
    size = query.weight.shape[0] // heads
    other = x if source is None else source
    # Where no mask is given, a causal module hides later positions by itself.
    causal = mask is None and source is None and x.shape[1] > 1 and module.is_causal
    usual: dict[str, Any] = {
        "key_heads": heads,
        "scale": size**-0.5,
        "is_causal": causal,
    }
    return Attention(
        query, key, value, heads, x=x, keys=other, values=other, mask=mask, **usual | more
    )


def head_count(module: Evaluator, *keys: str) -> int:
    """Return the number of heads by the configuration."""
    return int(module.setting_value(*keys))


def check_cache(cache: Any, length: int) -> None:
    """Refuse a cache of keys and values that held something before this call.

    After a call that began with an empty one it holds as many positions as were read.

    Raises:
        NoRecomputationError: it holds others.
    """
    if cache is not None and cache.get_seq_length() != length:
        raise NoRecomputationError("the recomputation does not cover cached keys and values")


def in_heads(module: Evaluator, x: Tensor, projection: Projection, heads: int) -> Tensor:
    """Project [B, S, D] and split the result into heads: [B, A, S, d]."""
    y = module.round(affine(x, projection.weight, projection.bias))
    return y.reshape(*y.shape[:-1], heads, -1).transpose(1, 2)


def _of_head(table: Tensor, head: int | None) -> Tensor:
    """Return one head's part of what is added to all scores [B, A or 1, S, S']."""
    if head is None or table.dim() < 4 or table.shape[1] == 1:
        return table
    return table[:, head : head + 1]


def _later(queries: int, keys: int) -> Tensor:
    """Return which keys come after each query."""
    return torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)


def _masked(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return scores
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, -torch.inf)
    return scores + mask


def _mixed(weight: Tensor, heads: Tensor) -> Tensor:
    """Return for every head a weighted sum of all [B, A, S, S']."""
    return (weight @ heads.flatten(2)).reshape(heads.shape)
