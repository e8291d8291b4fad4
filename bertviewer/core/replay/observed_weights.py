"""The attention weights that a module multiplies its values with, observed as it computes."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bertviewer.core.checks.float64_mode import attention_probabilities, attention_scores
from bertviewer.core.graph.module_calls import tensors_in
from bertviewer.core.graph.tracing import name_of
from bertviewer.core.runs.activation_cache import RecordedCall
from bertviewer.core.runs.attention_implementation import is_close

HIDDEN = -1e4
"""A position is hidden if at most this is added to its score: families differ."""

_PRODUCTS = frozenset(("matmul", "__matmul__", "bmm", "einsum"))
_TAG = "_observed_hidden"


class ObservedWeights(TorchFunctionMode):
    """Collects attention weights inside the ``with``, once it is opened.

    Attributes:
        found: the weights of each product with values, as [B, A, S, S'] or as the module has them,
            and where masks hide a key from a query, in the same shape.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Tensor, Tensor]] = []
        self._is_open = False

    def open(self, _taken: object) -> None:
        """Begin: what follows belongs to the call that is looked at."""
        self._is_open = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out a function, and note attention weights."""
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        if self._is_open:
            self._note(func, name_of(func)[0].rpartition(".")[2], args, kwargs, output)
        return output

    def _note(self, func: Any, short: str, args: Any, kwargs: Any, output: Any) -> None:
        if short == "scaled_dot_product_attention":
            self.found.append(_of_scaled_dot_product(*args, **kwargs))
            return
        if short == "multi_head_attention_forward":
            asked = {"need_weights": True, "average_attn_weights": False}
            weights = func(*args, **{**kwargs, **asked})[1]
            weights = weights if weights.dim() == 4 else weights[None]  # of one sentence
            hidden = _hidden_in(weights, kwargs)
            # A query from which every key is hidden attends to none.
            self.found.append((weights.masked_fill(hidden.all(-1, keepdim=True), 0), hidden))
            return
        if not isinstance(output, Tensor) or not output.is_floating_point():
            return
        tagged = next((each for each in tensors_in((args, kwargs)) if _TAG in vars(each)), None)
        if short == "softmax" and output.dim() > 2:
            vars(output)[_TAG] = args[0] <= HIDDEN
        elif tagged is not None and short in _PRODUCTS:
            self.found.append((tagged, vars(tagged)[_TAG]))
        elif tagged is not None and output.numel() == tagged.numel():
            hidden = vars(tagged)[_TAG]
            is_moved = output.shape != tagged.shape
            moved = func(hidden, *args[1:], **kwargs) if is_moved else hidden
            vars(output)[_TAG] = moved


def _of_scaled_dot_product(
    query: Tensor,
    key: Tensor,
    _value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **more: Any,
) -> tuple[Tensor, Tensor]:
    del dropout_p
    query, key = query.float(), key.float()
    scores = attention_scores(query, key, attn_mask, is_causal, **more)
    masks = attention_scores(
        torch.zeros_like(query), torch.zeros_like(key), attn_mask, is_causal, **more
    )
    return attention_probabilities(scores), masks <= HIDDEN


def _hidden_in(weights: Tensor, named: Any) -> Tensor:
    """Return where the masks of torch's own attention module hide, in the shape of its weights."""
    hidden = torch.zeros_like(weights, dtype=torch.bool)
    mask, padding = named.get("attn_mask"), named.get("key_padding_mask")
    for table, shape in ((mask, (-1, weights.shape[1])), (padding, (-1, 1, 1))):
        if table is not None:
            hides = table if table.dtype == torch.bool else table <= HIDDEN
            is_split = table is padding or table.dim() == 3
            hidden |= hides.reshape(*shape, *hides.shape[1:]) if is_split else hides
    return hidden


def probed_weights(
    attention: nn.Module, value: nn.Module, call: RecordedCall, values: Tensor, heads: int
) -> tuple[Tensor, Tensor] | None:
    """Return the weights of an attention with several softmaxes, as over blocks of tokens.

    What it returns is linear in its values. They are replaced by ones and zeros, as many tokens at
    a time as a head has features.

    Args:
        attention: returns its heads side by side [1, S, A·d].
        value: the module in it that computes the values.
        call: its recorded call.
        values: the recorded output of ``value``.
        heads: A.

    Returns:
        The weights [1, A, S, S], and where they are 0; ``None`` if the recorded output is something
        else than the weighted values.
    """
    recorded, length = tensors_in(call.output)[0], values.shape[1]
    if values.shape[-1] % heads or recorded.shape != values.shape:
        return None
    size = values.shape[-1] // heads
    columns: list[Tensor] = []
    for first in range(0, length, size):

        def probe(_module: nn.Module, _args: Any, output: Tensor, first: int = first) -> Tensor:
            ones = torch.zeros_like(output).reshape(*output.shape[:2], heads, size)
            for feature in range(min(size, length - first)):
                ones[:, first + feature, :, feature] = 1
            return ones.flatten(2)

        with value.register_forward_hook(probe):
            mixed = tensors_in(attention(*call.args, **call.kwargs))[0]
        columns.append(mixed.reshape(1, length, heads, size).transpose(1, 2)[..., : length - first])
    weights = torch.cat(columns, -1).float()
    mixed = weights @ values.float().reshape(1, length, heads, size).transpose(1, 2)
    is_weighted = is_close(mixed.transpose(1, 2).flatten(2).to(recorded.dtype), recorded)
    return (weights, weights == 0) if is_weighted else None
