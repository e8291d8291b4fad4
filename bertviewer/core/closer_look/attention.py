"""The attention of one module in a run, calculated when somebody looks at it.

Where the class is known, its probabilities are calculated from what the module took, as a check
does it, and nothing of the model is changed. The others are seen in a pass of the whole model
under transformers' eager implementation, which is the one that shows them.
"""

import inspect
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.attention_maps import (
    AttentionMaps,
    Probabilities,
    head_distances,
    head_entropies,
    masked_by_pattern,
)
from bertviewer.core.analysis.attention_places import attention_paths, places_of
from bertviewer.core.checking.arithmetic import rounded
from bertviewer.core.checking.attention import ATTENTIONS
from bertviewer.core.checking.check import BUILT_OTHERWISE
from bertviewer.core.checking.evaluator import NoRecomputationError, Setting
from bertviewer.core.checking.recomputations import recomputation
from bertviewer.core.closer_look.eager import eager, is_close
from bertviewer.core.errors import UserError
from bertviewer.core.families.families import CLASSES, kind_of_class
from bertviewer.core.flow.nested_tensors import tensors_in
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.big_bird_attention import choose_attention
from bertviewer.core.run.capture import Capture, KeptCall
from bertviewer.core.run.failures import as_user_error
from bertviewer.core.run.recording import first_tensor
from bertviewer.core.run.replay import look_at_call, replay, reporting, taken_by
from bertviewer.core.system.log import write_log


def attention_of(
    model: LoadedModel,
    run: ActivationRun,
    kept: Capture,
    path: str,
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> AttentionMaps:
    """Return what the heads of the attention at ``path`` look at in ``run``.

    ``call`` chooses one of the calls of a shared layer.

    Raises:
        UserError: the module is no attention, was not called, or does not show what it looks at.
        IndexError: there was no such call.
        Cancelled: ``progress`` said so.
    """
    if path not in attention_paths(model.architecture):
        raise UserError(f"{path or 'the model'} is not an attention module")
    activation = run.activation(path)
    if activation is None:
        raise UserError(f"{path} was not called in this run")
    calls = len(activation.calls)
    number = range(calls)[call]
    # A run since then may have been on another device.
    model.module(random_weights=True, progress=progress, device=run.device)
    weights, hidden = _weights(model, kept, path, progress, number=number, calls=calls)
    queries, keys, is_cross = places_of(
        run, path, bool(model.architecture.config.get("is_encoder_decoder"))
    )
    if weights.dim() != 4 or weights.shape[2:] != (len(queries), len(keys)):
        raise UserError(f"{path}: its attention is not token-to-token, so it cannot be shown")
    progress(0, 0, "Measuring attention heads")
    found = weights[0].float().cpu().numpy()
    return AttentionMaps(
        path=path,
        call=number,
        calls=calls,
        probabilities=found,
        query_tokens=queries,
        key_tokens=keys,
        entropies=head_entropies(found),
        distances=None if is_cross else head_distances(found),
        masked=_masked(found, hidden),
    )


def _masked(probabilities: Probabilities, hidden: Tensor | None) -> NDArray[np.bool_] | None:
    """Return the cells that a mask hides, by the mask itself or else by what it leaves of them."""
    if hidden is None:
        return masked_by_pattern(probabilities)
    shape = probabilities.shape
    table = hidden[0] if hidden.dim() == 4 else hidden
    masked = np.broadcast_to(table.cpu().numpy(), shape)
    if not masked.any():
        return None
    # A query from which everything is hidden looks at all alike.
    seen = probabilities > 0
    return masked & ~seen if (masked & seen).any() else masked


def _weights(
    model: LoadedModel, kept: Capture, path: str, progress: Progress, *, number: int, calls: int
) -> tuple[Tensor, Tensor | None]:
    """Return the probabilities [1, A, S_q, S_k] in one of the calls, and where masks are known."""
    attention = model.running_module.get_submodule(path)
    if kind_of_class(type(attention).__name__) in ATTENTIONS:
        # What cannot be calculated may yet be seen.
        try:
            model.with_flows(progress)  # they say which attention is causal
            taken = taken_by(model, kept, path, progress, number=number, count=calls)
            return _recomputed(model, attention, path, taken)
        except (UserError, NoRecomputationError, *BUILT_OTHERWISE) as error:
            write_log(f"{path!r}: its attention is not calculated: {error!r}")
    seen = _seen_eagerly(model, kept, path, progress)
    used = replay(model, kept, (path,), progress).calls[path][number]
    if not _gives_the_same(seen[number], used):
        # As Falcon's with ALiBi, where transformers' two ways differ.
        shares = _used_by_torch(model, kept, path, progress, number=number, calls=calls)
        if len(shares) == 1 and are_probabilities(shares[0]):
            return shares[0], None
        raise UserError(
            f"{path}: computed step by step, {type(attention).__name__} gives different values "
            "than in the run, so its attention cannot be shown"
        )
    for tensor in tensors_in(seen[number].output):
        # XLNet's has the batch and the heads behind the tokens.
        for weights in (tensor, tensor.permute(2, 3, 0, 1) if tensor.dim() == 4 else tensor):
            if are_probabilities(weights):
                return weights, None
    raise UserError(f"{path}: {type(attention).__name__} does not return its attention weights")


def _used_by_torch(
    model: LoadedModel, kept: Capture, path: str, progress: Progress, *, number: int, calls: int
) -> list[Tensor]:
    """Return the probabilities of each ``scaled_dot_product_attention`` in a call of a module.

    They are calculated from what that function is given in the run's own implementation.
    """
    seen = _SeenProducts()
    with seen:
        look_at_call(
            model, kept, path, seen.open, lambda _: (), progress, number=number, count=calls
        )
    return seen.shares


class _SeenProducts(TorchFunctionMode):
    """Calculates the probabilities of attention that torch carries out in one step."""

    def __init__(self) -> None:
        super().__init__()
        self.shares: list[Tensor] = []
        self._is_open = False

    def open(self, _taken: object) -> None:
        """Begin: what follows is of the call that is looked at."""
        self._is_open = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out a function."""
        kwargs = kwargs or {}
        if self._is_open and func is torch.nn.functional.scaled_dot_product_attention:
            self.shares.append(_shares_of(*args, **kwargs))
        return func(*args, **kwargs)


def _shares_of(
    query: Tensor,
    key: Tensor,
    _value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return the probabilities that ``scaled_dot_product_attention`` weights values with."""
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    size = query.shape[-1]
    scores = (
        query.float() @ key.float().transpose(-1, -2) * (size**-0.5 if scale is None else scale)
    )
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1)


def _gives_the_same(seen: KeptCall, used: KeptCall) -> bool:
    """Tell whether an attention mixed the values in the same shares, but for roundings."""
    one, other = (first_tensor(call.output) for call in (seen, used))
    return one is not None and other is not None and is_close(one, other)


def _recomputed(
    model: LoadedModel, attention: nn.Module, path: str, call: KeptCall
) -> tuple[Tensor, Tensor]:
    """Calculate the probabilities in float32 from what the module took, and what masks hide.

    Raises:
        NoRecomputationError: the module is built otherwise than its class says.
    """
    architecture = model.architecture
    parameter = next(iter(attention.parameters()))
    arithmetic = rounded(parameter.dtype)
    nodes = {node.path: node for node in architecture.modules}
    module = model.running_module
    evaluator = Setting(module, architecture, nodes, arithmetic, recomputation, CLASSES).evaluator(
        path
    )
    kind = ATTENTIONS[evaluator.kind]
    # Masks and tables that the calculation makes itself belong to where the weights are.
    with torch.no_grad(), parameter.device:
        args, kwargs = arithmetic.take(call.args), arithmetic.take(dict(call.kwargs))
        read = kind.read(evaluator, *args, **kwargs)
        weights, hidden = read.weights(evaluator), read.hidden()
        return weights, torch.zeros_like(weights, dtype=torch.bool) if hidden is None else hidden


def _seen_eagerly(
    model: LoadedModel, kept: Capture, path: str, progress: Progress
) -> list[KeptCall]:
    """Run the whole model again as it calculates attention step by step.

    The layers cannot be called alone here: the masks that they took are those of the run's own
    implementation.

    Raises:
        UserError: the model does not run that way.
    """
    module = model.running_module
    choose_attention(module, kept.inputs)
    parameters = inspect.signature(module.forward).parameters.values()
    takes = any(p.name == "output_attentions" or p.kind == p.VAR_KEYWORD for p in parameters)
    inputs = {**kept.inputs, "output_attentions": True} if takes else kept.inputs
    capture = Capture()
    watched = {path: module.get_submodule(path)}
    with (
        torch.no_grad(),
        as_user_error(module, f"{path}: its attention weights cannot be obtained"),
        eager(module),
        reporting(module, progress),
        capture.watching(watched),
    ):
        module(**inputs)
    return capture.calls[path]


def are_probabilities(tensor: Tensor) -> bool:
    """Tell whether a tensor is [1, A, S_q, S_k] with rows that sum to 1; NaN may be among them."""
    if tensor.dim() != 4 or tensor.shape[0] != 1 or not tensor.is_floating_point():
        return False
    sums = tensor.float().sum(-1)
    return not bool(((sums - 1).abs() > 0.01).any()) and not bool((tensor < 0).any())
