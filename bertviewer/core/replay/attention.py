"""The attention weights of one module in a run, computed on request.

The module is called again with its recorded inputs, and its weights are computed from what it
passes to torch. Where that does not show them, the whole model is run with transformers' eager
attention, which returns them.
"""

import numpy as np
import torch
from msgspec import Struct
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
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.observed_weights import ObservedWeights, probe_weights
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.attention_implementation import (
    are_probabilities,
    eager_attention,
    is_close,
    reset_model_state,
)
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.runs.inputs import accepted_by
from bertviewer.core.runs.module_replay import call_model, replay, replay_call
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.sources.families import PROJECTIONS
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.log import write_log
from bertviewer.core.util.progress import Progress, no_progress


def attention_of(
    cached: CachedRun,
    path: str,
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> AttentionMaps:
    """Return the attention weights of all heads of the module at ``path`` in a run.

    ``call`` chooses one of the calls of a shared layer.

    Raises:
        UserError: the module is no attention, was not called, or does not show its weights.
        IndexError: there was no such call.
        Cancelled: by ``progress``.
    """
    model, run = cached.model, cached.run
    if path not in attention_paths(model.architecture):
        raise UserError(f"{path or 'the model'} is not an attention module")
    activation = run.activation(path)
    if activation is None:
        raise UserError(f"{path} was not called in this run")
    calls = len(activation.calls)
    number = range(calls)[call]
    cached.module(progress)
    queries, keys, is_cross = attention_tokens(run, path, model.architecture.is_encoder_decoder)
    shape = (len(queries), len(keys))
    weights, hidden = _AttentionCall(cached, path, number, calls, shape, progress).weights()
    if weights.dim() != 4 or weights.shape[2:] != shape:
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
    """Return the cells that a mask hides: from the mask, or else from the zeros."""
    if hidden is None:
        return masked_by_pattern(probabilities)
    table = hidden[0] if hidden.dim() == 4 else hidden
    masked = np.broadcast_to(table.cpu().numpy(), probabilities.shape)
    if not masked.any():
        return None
    # A query from which all keys are hidden attends to all equally.
    seen = probabilities > 0
    return masked & ~seen if (masked & seen).any() else masked


class _AttentionCall(Struct, frozen=True, eq=False):
    """One call of an attention module in a run; ``shape`` is [S_q, S_k]."""

    cached: CachedRun
    path: str
    number: int
    calls: int
    shape: tuple[int, int]
    progress: Progress

    def weights(self) -> tuple[Tensor, Tensor | None]:
        """Return the weights [1, A, S_q, S_k], and where a mask hides keys, if that is known."""
        path = self.path
        name = type(self.cached.model.running_module.get_submodule(path)).__name__
        try:
            if found := self._observed():
                return found
        except UserError as error:
            # The whole model may still run with eager attention.
            write_log(f"{path!r}: its attention is not observed: {error!r}")
        eager = self._eager_output()
        if not _is_same_output(eager, self._replayed(path)):
            raise UserError(
                f"{path}: computed step by step, {name} gives different values than in the run, "
                "so its attention cannot be shown"
            )
        for tensor in tensors_in(eager):
            # XLNet's are [S_q, S_k, 1, A].
            for weights in (tensor, tensor.permute(2, 3, 0, 1) if tensor.dim() == 4 else tensor):
                if are_probabilities(weights):
                    return weights, None
        raise UserError(f"{path}: {name} does not return its attention weights")

    def _observed(self) -> tuple[Tensor, Tensor] | None:
        """Return the weights that the module computes, and where its masks hide keys."""
        observed = ObservedWeights()
        with observed:
            replay_call(
                self.cached.model,
                self.cached.cache,
                self.path,
                observed.start,
                lambda _: (),
                self.progress,
                number=self.number,
                count=self.calls,
            )
        found = [tuple(it if it.dim() > 3 else it[None] for it in pair) for pair in observed.found]
        shown = [it for it in found if it[0].shape[0] == 1 and it[0].shape[2:] == self.shape]
        if len(shown) == 1:
            return shown[0][0], shown[0][1]
        inner = self.cached.model.running_module.get_submodule(self.path)
        projections = [
            (name, part)
            for name, part in inner.named_children()
            if PROJECTIONS.get(name) == "value" and isinstance(part, nn.Linear)
        ]
        if len(found) < 2 or len(projections) != 1:
            return None
        ((name, value),) = projections
        paths = (self.path, f"{self.path}.{name}")
        recorded = replay(self.cached.model, self.cached.cache, paths, self.progress).calls
        call, values = (recorded[path][self.number] for path in paths)
        with torch.no_grad():
            return probe_weights(inner, value, call, values.output, found[0][0].shape[1])

    def _replayed(self, path: str) -> object:
        calls = replay(self.cached.model, self.cached.cache, (path,), self.progress).calls[path]
        return calls[self.number].output

    def _eager_output(self) -> object:
        """Run the whole model with eager attention and return the module's output.

        Its layers cannot be called alone, because their masks are those of another implementation.

        Raises:
            UserError: the model does not run that way.
        """
        module = self.cached.model.running_module
        reset_model_state(module, self.cached.cache.inputs)
        inputs = dict(self.cached.cache.inputs)
        inputs |= accepted_by(module, {"output_attentions": True})
        problem = f"{self.path}: its attention weights cannot be obtained"
        found = ActivationCache()
        with (
            as_user_error(module, problem),
            eager_attention(module),
            found.recording({self.path: module.get_submodule(self.path)}),
        ):
            call_model(self.cached.model, inputs, self.progress, problem)
        return found.calls[self.path][self.number].output


def _is_same_output(eager: object, used: object) -> bool:
    one, other = first_tensor(eager), first_tensor(used)
    return one is not None and other is not None and is_close(one, other)
