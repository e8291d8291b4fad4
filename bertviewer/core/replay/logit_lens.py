"""Logit lens: the model's head applied to the hidden states of one token after each layer.

nostalgebraist 2020, "interpreting GPT: the logit lens".
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertviewer.core.analysis.attention_modules import attention_paths
from bertviewer.core.analysis.layers import outermost_layer
from bertviewer.core.analysis.predictions import predicted_positions
from bertviewer.core.graph.module_calls import replacing, tensors_in
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.module_replay import replay, reporting
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.errors import UserError, describe_error
from bertviewer.core.util.progress import Progress


def logits_by_layer(
    cached: CachedRun,
    position: int,
    progress: Progress,
) -> Tensor:
    """Return the head's scores [N + 1, V] for each hidden state of the token at ``position``.

    The last row is the model's own output, which is verified.

    Raises:
        UserError: the head cannot be applied to the hidden states of one token.
        Cancelled: by ``progress``.
    """
    model, run, cache = cached.model, cached.run, cached.cache
    module = model.running_module
    places = predicted_positions(run, model.architecture)
    row = places.index(position)
    states = _states(run, module, position)
    last_norm = _last_norm(model, cache, states[-1], (row, len(places)), progress)
    if last_norm is not None:
        path, is_applied_last = last_norm
        with torch.no_grad():
            normed = module.get_submodule(path)(states)
        states = normed if is_applied_last else torch.cat([normed[:-1], states[-1:]])
    inputs = {k: v for k, v in cache.inputs.items() if k != "output_hidden_states"}
    output = _BaseOutput(states[:, None])
    bases = [module.get_submodule(path) for path in _base_paths(module, model.architecture)]
    replacements = [(base, lambda *_args, **_kwargs: output) for base in bases]
    try:
        with torch.no_grad(), replacing(replacements), reporting(module, progress):
            logits = first_tensor(module(**inputs))
    except (RuntimeError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            f"the head cannot be applied to individual hidden states: {describe_error(error)}"
        ) from error
    root = run.activation("")
    norms = None if root is None else root.token_norms
    if logits is None or logits.shape[:2] != (len(states), 1) or norms is None:
        raise UserError(
            "the head does not return one score per vocabulary entry for one token's vector"
        )
    scores = widened(logits[:, 0])
    # Half precision rounds the norm in the run as well.
    tolerance = 1e-3 if states.element_size() >= 4 else 3e-2
    # The run's norm is that of the finite scores: layers before a NaN are still of use.
    last = float(scores[-1].nan_to_num(0.0, 0.0, 0.0).norm())
    if not np.isclose(last, norms[row], rtol=tolerance):
        raise UserError("the head needs more than the token's last hidden state")
    return scores


def widened(scores: Tensor) -> Tensor:
    """Return half-precision scores in float32, others unchanged."""
    return scores.float() if scores.element_size() < 4 else scores


def _states(run: ActivationRun, module: nn.Module, position: int) -> Tensor:
    """Return the token's vector in each hidden state of its stack: [N + 1, D]."""
    states = [state[position] for state in run.hidden_states]
    # The shorter one of two stacks has rows of NaN.
    while states and np.isnan(states[-1]).all() and not run.state_path(len(states) - 1, position):
        states.pop()
    if len(states) < 2:
        raise UserError("the run has no hidden states of the same size")
    parameter = next(iter(module.parameters()))
    return torch.from_numpy(np.stack(states)).to(parameter.device, parameter.dtype)


def _base_paths(module: nn.Module, architecture: Architecture) -> tuple[str, ...]:
    """Return what the head is put on: the base model, or its parts if the model contains these.

    Raises:
        UserError: neither is known.
    """
    base = getattr(module, "base_model", module)
    if base is not module:
        return tuple(path for path, inner in module.named_modules() if inner is base)
    held = dict.fromkeys(path.partition(".")[0] for path in attention_paths(architecture))
    if not held:
        raise UserError("the boundary between the base model and its head is not known")
    return tuple(held)


def _last_norm(
    model: LoadedModel,
    cache: ActivationCache,
    last: Tensor,
    place: tuple[int, int],
    progress: Progress,
) -> tuple[str, bool] | None:
    """Return the path of the norm after the last layer of a pre-norm model, ``None`` without one.

    The norm returned the last hidden state, or takes it: then the second value is true. ``place``
    is the token's row in its stack, and the number of rows.
    """
    row, length = place
    inside = tuple(f"{path}." for path in _base_paths(model.running_module, model.architecture))
    candidates = [
        node.path
        for node in model.architecture.modules
        if "Norm" in node.class_name
        and node.path.startswith(inside)
        and outermost_layer(node.path) is None
        and not model.architecture.children(node.path)
    ]
    calls = replay(model, cache, candidates, progress).calls
    for path in reversed(candidates):
        for call in calls.get(path, ()):
            taken = next(iter(tensors_in((call.args, call.kwargs))), None)
            for tensor, is_applied_last in ((call.output, False), (taken, True)):
                if not isinstance(tensor, Tensor) or tensor.shape != (1, length, len(last)):
                    continue
                if torch.allclose(tensor[0, row], last, rtol=1e-4, atol=1e-6, equal_nan=True):
                    return path, is_applied_last
    return None


class _BaseOutput:
    """The output of a base model, of which heads read the hidden states [B, S, D] or the first."""

    def __init__(self, states: Tensor) -> None:
        self.last_hidden_state = states
        self.pooler_output = states[:, 0]

    def __getitem__(self, place: Any) -> Any:
        return (self.last_hidden_state, self.pooler_output)[place]

    def __getattr__(self, name: str) -> None:
        """Return ``None`` for everything else."""
