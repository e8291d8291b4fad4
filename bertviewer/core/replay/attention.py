"""The attention weights of one module in a run, computed on request.

The module is called again with its recorded inputs, and its weights are computed from what it
passes to torch. Where that does not show them, the whole model is run with transformers' eager
implementation, which returns them.
"""

import inspect

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviewer.core.analysis.attention_maps import (
    AttentionMaps,
    Probabilities,
    head_distances,
    head_entropies,
    masked_by_pattern,
)
from bertviewer.core.analysis.attention_modules import attention_paths, attention_tokens
from bertviewer.core.graph.module_calls import tensors_in
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.observed_weights import ObservedWeights, probed_weights
from bertviewer.core.runs.activation_cache import ActivationCache, RecordedCall
from bertviewer.core.runs.attention_implementation import (
    eager_attention,
    is_close,
    reset_model_state,
)
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.replay import replay, replay_call, reporting
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.log import write_log
from bertviewer.core.util.progress import Progress, no_progress


def attention_of(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
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
    queries, keys, is_cross = attention_tokens(
        run, path, bool(model.architecture.config.get("is_encoder_decoder"))
    )
    shape = (len(queries), len(keys))
    weights, hidden = _weights(model, kept, path, progress, shape, number=number, calls=calls)
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
    model: LoadedModel,
    kept: ActivationCache,
    path: str,
    progress: Progress,
    shape: tuple[int, int],
    *,
    number: int,
    calls: int,
) -> tuple[Tensor, Tensor | None]:
    """Return the probabilities [1, A, S_q, S_k] in one of the calls, and where masks are known.

    ``shape`` is the number of queries and of keys.
    """
    attention = model.running_module.get_submodule(path)
    try:
        if found := _observed(model, kept, path, progress, shape, number=number, calls=calls):
            return found
    except UserError as error:
        # What cannot be called alone may yet be seen.
        write_log(f"{path!r}: its attention is not observed: {error!r}")
    seen = _seen_eagerly(model, kept, path, progress)
    used = replay(model, kept, (path,), progress).calls[path][number]
    if not _gives_the_same(seen[number], used):
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


def _observed(
    model: LoadedModel,
    kept: ActivationCache,
    path: str,
    progress: Progress,
    shape: tuple[int, int],
    *,
    number: int,
    calls: int,
) -> tuple[Tensor, Tensor] | None:
    """Return the probabilities that a module is seen to use, and what masks hide, if it is seen."""
    observed = ObservedWeights()
    with observed:
        replay_call(
            model, kept, path, observed.open, lambda _: (), progress, number=number, count=calls
        )
    found = [
        (
            weights if weights.dim() > 3 else weights[None],
            hidden if hidden.dim() > 3 else hidden[None],
        )
        for weights, hidden in observed.found
    ]
    shown = [it for it in found if it[0].shape[0] == 1 and it[0].shape[2:] == shape]
    if len(shown) == 1:
        return shown[0]
    inner = model.running_module.get_submodule(path)
    if len(found) < 2 or not isinstance(value := getattr(inner, "value", None), nn.Linear):
        return None
    call = replay(model, kept, (path, f"{path}.value"), progress)
    with torch.no_grad():
        return probed_weights(
            inner,
            value,
            call.calls[path][number],
            call.calls[f"{path}.value"][number].output,
            found[0][0].shape[1],
        )


def _gives_the_same(seen: RecordedCall, used: RecordedCall) -> bool:
    """Tell whether an attention mixed the values in the same shares, but for roundings."""
    one, other = (first_tensor(call.output) for call in (seen, used))
    return one is not None and other is not None and is_close(one, other)


def _seen_eagerly(
    model: LoadedModel, kept: ActivationCache, path: str, progress: Progress
) -> list[RecordedCall]:
    """Run the whole model again as it calculates attention step by step.

    The layers cannot be called alone here: the masks that they took are those of the run's own
    implementation.

    Raises:
        UserError: the model does not run that way.
    """
    module = model.running_module
    reset_model_state(module, kept.inputs)
    parameters = inspect.signature(module.forward).parameters.values()
    takes = any(p.name == "output_attentions" or p.kind == p.VAR_KEYWORD for p in parameters)
    inputs = {**kept.inputs, "output_attentions": True} if takes else kept.inputs
    capture = ActivationCache()
    watched = {path: module.get_submodule(path)}
    with (
        torch.no_grad(),
        as_user_error(module, f"{path}: its attention weights cannot be obtained"),
        eager_attention(module),
        reporting(module, progress),
        capture.recording(watched),
    ):
        module(**inputs)
    return capture.calls[path]


def are_probabilities(tensor: Tensor) -> bool:
    """Tell whether a tensor is [1, A, S_q, S_k] with rows that sum to 1; NaN may be among them."""
    if tensor.dim() != 4 or tensor.shape[0] != 1 or not tensor.is_floating_point():
        return False
    sums = tensor.float().sum(-1)
    return not bool(((sums - 1).abs() > 0.01).any()) and not bool((tensor < 0).any())
