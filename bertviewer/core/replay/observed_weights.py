"""The attention weights that a module multiplies its values with, observed as it computes."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bertviewer.core.checks.float64_functions import attention_probabilities, attention_scores
from bertviewer.core.graph.module_calls import CallObserver, observing, tensors_in
from bertviewer.core.graph.tracing import name_of
from bertviewer.core.runs.activation_cache import RecordedCall
from bertviewer.core.runs.attention_implementation import is_close

HIDDEN = -1e4
"""A mask hides a key if it adds this or less to the score; families use different numbers."""

_PRODUCTS = frozenset(("matmul", "__matmul__", "bmm", "einsum"))
_HIDDEN_KEYS = "_observed_hidden"
"""Attribute of a tensor of weights: where masks hide keys, in the same shape."""


class ObservedWeights(TorchFunctionMode):
    """Collects attention weights inside the ``with``, after ``start``.

    Attributes:
        found: the weights of each product with values, as [B, A, S, S'] or in the module's shape,
            and where masks hide a key from a query, in the same shape.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Tensor, Tensor]] = []
        self._is_started = False

    def start(self, _arguments: object) -> None:
        """Observe from now on."""
        self._is_started = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out a function, and collect its attention weights."""
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        if self._is_started:
            self._see(func, name_of(func)[0].rpartition(".")[2], args, kwargs, output)
        return output

    def _see(self, func: Any, name: str, args: Any, kwargs: Any, output: Any) -> None:
        if name == "scaled_dot_product_attention":
            self.found.append(_of_scaled_dot_product(*args, **kwargs))
            return
        if name == "multi_head_attention_forward":
            weights = func(
                *args, **{**kwargs, "need_weights": True, "average_attn_weights": False}
            )[1]
            weights = weights if weights.dim() == 4 else weights[None]  # of one sentence
            hidden = _hidden_keys(weights, kwargs)
            # A query from which every key is hidden attends to none.
            self.found.append((weights.masked_fill(hidden.all(-1, keepdim=True), 0), hidden))
            return
        if not isinstance(output, Tensor) or not output.is_floating_point():
            return
        weights = next(
            (each for each in tensors_in((args, kwargs)) if _HIDDEN_KEYS in vars(each)), None
        )
        if name == "softmax" and output.dim() > 2:
            vars(output)[_HIDDEN_KEYS] = args[0] <= HIDDEN
        elif weights is not None and name in _PRODUCTS:
            self.found.append((weights, vars(weights)[_HIDDEN_KEYS]))
        elif weights is not None and output.numel() == weights.numel():
            hidden = vars(weights)[_HIDDEN_KEYS]
            is_view = output.shape != weights.shape
            vars(output)[_HIDDEN_KEYS] = func(hidden, *args[1:], **kwargs) if is_view else hidden


def _of_scaled_dot_product(
    query: Tensor,
    key: Tensor,
    _value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **more: Any,
) -> tuple[Tensor, Tensor]:
    """Return the weights [B, A, S, S'] of a fused attention, and where masks hide keys."""
    del dropout_p
    query, key = query.float(), key.float()
    scores = attention_scores(query, key, attn_mask, is_causal, **more)
    masks = attention_scores(
        torch.zeros_like(query), torch.zeros_like(key), attn_mask, is_causal, **more
    )
    return attention_probabilities(scores), masks <= HIDDEN


def _hidden_keys(weights: Tensor, named: Any) -> Tensor:
    """Return where masks of ``nn.MultiheadAttention`` hide keys, in the shape of its weights."""
    hidden = torch.zeros_like(weights, dtype=torch.bool)
    mask, padding = named.get("attn_mask"), named.get("key_padding_mask")
    for table, shape in ((mask, (-1, weights.shape[1])), (padding, (-1, 1, 1))):
        if table is not None:
            hides = table if table.dtype == torch.bool else table <= HIDDEN
            is_by_sentence = table is padding or table.dim() == 3
            hidden |= hides.reshape(*shape, *hides.shape[1:]) if is_by_sentence else hides
    return hidden


def probe_weights(
    attention: nn.Module, value: nn.Module, call: RecordedCall, values: Tensor, heads: int
) -> tuple[Tensor, Tensor] | None:
    """Return the weights of an attention with several softmaxes, as over blocks of tokens.

    Its output is linear in its values. These are replaced by ones and zeros, for as many tokens at
    a time as a head has features.

    Args:
        attention: returns its heads concatenated, [1, S, A·d].
        value: its submodule that computes the values.
        call: its recorded call.
        values: the recorded output of ``value``.
        heads: A.

    Returns:
        The weights [1, A, S, S], and where they are 0; ``None`` if the recorded output is not the
        weighted sum of the values.
    """
    recorded, length = tensors_in(call.output)[0], values.shape[1]
    if values.shape[-1] % heads or recorded.shape != values.shape:
        return None
    size = values.shape[-1] // heads
    columns: list[Tensor] = []
    for first in range(0, length, size):

        def probe(_arguments: Any, output: Tensor, _before: None, first: int = first) -> Tensor:
            ones = torch.zeros_like(output).reshape(*output.shape[:2], heads, size)
            for feature in range(min(size, length - first)):
                ones[:, first + feature, :, feature] = 1
            return ones.flatten(2)

        with observing([CallObserver(value, probe)]):
            mixed = tensors_in(attention(*call.args, **call.kwargs))[0]
        columns.append(mixed.reshape(1, length, heads, size).transpose(1, 2)[..., : length - first])
    weights = torch.cat(columns, -1).float()
    mixed = weights @ values.float().reshape(1, length, heads, size).transpose(1, 2)
    is_weighted = is_close(mixed.transpose(1, 2).flatten(2).to(recorded.dtype), recorded)
    return (weights, weights == 0) if is_weighted else None
