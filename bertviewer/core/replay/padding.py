"""The effect of padding: a run's sentence alone, padded with the mask, and padded without it."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.padding import (
    MAX_TOKENS,
    PaddedAttention,
    PaddedState,
    Padding,
    rounding_of,
)
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.runs.attention_implementation import (
    are_probabilities,
    eager_attention,
    is_close,
)
from bertviewer.core.runs.inputs import accepted_by, parameters_of
from bertviewer.core.runs.module_replay import call_model
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

_PAD_KEYS = ("pad_token_id", "eos_token_id")
_PADDING = {"input_ids": None, "attention_mask": 0, "token_type_ids": 0}
"""Arguments as long as the sentence, and their values for padding; ``None``: the padding token."""


def compare_padding(
    cached: CachedRun,
    length: int,
    progress: Progress = no_progress,
) -> Padding:
    """Compare a run's sentence alone with the same padded to ``length`` tokens.

    All passes use eager attention, so that they differ in nothing else; or the model's usual
    implementation if eager attention computes something else (Falcon with ALiBi). Of an
    encoder-decoder the encoder's sentence is padded.

    Raises:
        UserError: the model accepts no mask or returns no hidden states, or the length is invalid.
        Cancelled: by ``progress``.
    """
    model, run, cache = cached.model, cached.run, cached.cache
    module = cached.module(progress)
    config = model.architecture.config
    is_pair = bool(config.get("is_encoder_decoder"))
    tokens = tuple(token for token in run.tokens if not is_pair or token.segment == 0)
    _check_length(module, len(tokens), length, model.length_limits().source)
    pad = _pad_token(model, config)
    alone = {**cache.inputs, "attention_mask": torch.ones_like(cache.inputs["input_ids"])}
    masked = _padded(alone, length, pad.id)
    unmasked = {**masked, "attention_mask": torch.ones_like(masked["attention_mask"])}
    dtype = next(module.parameters()).dtype
    lengths = (len(tokens), length, length)
    problem = f"{model.source.name}: the padded sentence cannot be run"
    outputs: list[Any] = []
    states: list[tuple[Tensor, ...]] = []
    for is_eager in (True, False):
        options = {
            "output_attentions": is_eager,
            "output_hidden_states": True,
            "return_dict": True,
        }
        with eager_attention(module) if is_eager else nullcontext():
            outputs = []
            for number, inputs in enumerate((alone, masked, unmasked)):
                progress(number, 3, "Running the padded sentence")
                asked = {**inputs, **accepted_by(module, options)}
                outputs.append(call_model(model, asked, progress, problem))
        states = [_states(output, count) for output, count in zip(outputs, lengths, strict=True)]
        if _is_as_in(run, states[0], dtype):
            break
    epsilon = torch.finfo(dtype).eps
    return Padding(
        tokens=(*tokens, *(pad,) * (length - len(tokens))),
        count=len(tokens),
        states=tuple(
            _state(*each, count=len(tokens), epsilon=epsilon)
            for each in zip(states[0], states[1], states[2], strict=True)
        ),
        attentions=_attentions(outputs[1], outputs[2], len(tokens)),
        is_causal=not is_pair and is_causal(model.with_flows(progress)) is True,
    )


def _check_length(module: nn.Module, count: int, length: int, limit: int | None) -> None:
    if "attention_mask" not in parameters_of(module):
        raise UserError(f"{type(module).__name__} accepts no attention mask")
    most = MAX_TOKENS if limit is None else limit
    if not count < length <= most:
        raise UserError(
            f"the padded length must be from {count + 1:,} to {most:,} tokens, not {length:,}"
        )


def _pad_token(model: LoadedModel, config: Mapping[str, Any]) -> Token:
    """Return the padding token, else the token that ends a text, else the first one."""
    ids = (config.get(key) for key in _PAD_KEYS)
    number = next((found for found in ids if isinstance(found, int) and found >= 0), 0)
    return Token(number, model.tokenizer().text_of(number), 0, is_special=True)


def _padded(inputs: Mapping[str, Any], length: int, pad: int) -> dict[str, Any]:
    padded = dict(inputs)
    for name, value in _PADDING.items():
        if (row := inputs.get(name)) is not None:
            rest = row.new_full((1, length - row.shape[1]), pad if value is None else value)
            padded[name] = torch.cat([row, rest], dim=1)
    return padded


def _is_as_in(run: ActivationRun, states: tuple[Tensor, ...], dtype: torch.dtype) -> bool:
    """Return whether the last state is that of the run, up to rounding."""
    if len(states) != len(run.hidden_states) or states[-1].shape != run.hidden_states[-1].shape:
        return True  # the run has the states of both stacks
    return is_close(states[-1].to(dtype), torch.from_numpy(run.hidden_states[-1]))


def _states(output: Any, count: int) -> tuple[Tensor, ...]:
    """Return the hidden states of a sentence of ``count`` tokens: [S, D] each.

    Raises:
        UserError: there are none, or they have another length, as in a model that pads itself.
    """
    found = output.get("hidden_states")
    found = output.get("encoder_hidden_states") if found is None else found
    if not found or any(state.dim() != 3 for state in found):
        raise UserError(
            "this model returns no hidden states, so the effect of padding cannot be shown"
        )
    if any(state.shape[1] != count for state in found):
        raise UserError(
            "some hidden states of this model have another length than the sentence, so the effect "
            "of padding cannot be shown"
        )
    return tuple(state[0].double() for state in found)


def _state(
    alone: Tensor, masked: Tensor, unmasked: Tensor, *, count: int, epsilon: float
) -> PaddedState:
    return PaddedState(
        masked=float((masked[:count] - alone).abs().max()),
        unmasked=float((unmasked[:count] - alone).abs().max()),
        rounding=rounding_of(float(alone.abs().max()), epsilon),
        norm=float(alone.norm(dim=1).mean()),
        padded_norm=float(masked[count:].norm(dim=1).mean()),
    )


def _attentions(masked: Any, unmasked: Any, count: int) -> tuple[PaddedAttention, ...]:
    def share(weights: Tensor) -> float:
        return float(weights[:, :count, count:].sum(-1).mean())

    pairs = zip(_weights(masked), _weights(unmasked), strict=True)
    return tuple(PaddedAttention(share(one), share(other)) for one, other in pairs)


def _weights(output: Any) -> tuple[Tensor, ...]:
    """Return the attention weights [A, S, S] of each layer, () if the output has none."""
    found = output.get("attentions")
    found = output.get("encoder_attentions") if found is None else found
    weights = tuple(found or ())
    # SqueezeBERT returns scores by that name, Longformer weights within its windows.
    is_square = all(one.shape[-1] == one.shape[-2] for one in weights)
    is_known = is_square and all(map(are_probabilities, weights))
    return tuple(one[0].double() for one in weights) if is_known else ()
