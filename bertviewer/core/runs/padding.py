"""A run's sentence padded to more tokens, with the mask and without: what the mask is for."""

import inspect
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.padding import (
    MOST_TOKENS,
    PaddedAttention,
    PaddedState,
    Padding,
    rounding_of,
)
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.attention import are_probabilities
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.attention_implementation import (
    eager_attention,
    is_close,
    reset_model_state,
)
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.runs.replay import reporting
from bertviewer.core.schema.activation_run import ActivationRun, Token
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

_PAD_KEYS = ("pad_token_id", "eos_token_id")
_FILLED = {"input_ids": None, "attention_mask": 0, "token_type_ids": 0}
"""What is as long as the sentence, and what stands there for padding; the ids have their own."""


def look_at_padding(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    length: int,
    progress: Progress = no_progress,
) -> Padding:
    """Pad a run's sentence to ``length`` tokens, and run it alone, with the mask and without.

    All three are run as the model calculates attention step by step, so that they differ in
    nothing else; or in its own way, where the other gives other numbers (Falcon with ALiBi). Of an
    encoder-decoder it is the encoder's sentence that is padded.

    Raises:
        UserError: the model takes no mask or gives no hidden states, or there is no such length.
        Cancelled: ``progress`` said so.
    """
    module = model.module(random_weights=True, progress=progress, device=run.device)
    config = model.architecture.config
    is_pair = bool(config.get("is_encoder_decoder"))
    tokens = tuple(token for token in run.tokens if not is_pair or token.segment == 0)
    _check(module, len(tokens), length, model.length_limits().source)
    pad = _pad_token(model, config)
    alone = {**kept.inputs, "attention_mask": _ones(kept.inputs)}
    masked = _padded(alone, length, pad.id)
    unmasked = {**masked, "attention_mask": torch.ones_like(masked["attention_mask"])}
    dtype = next(module.parameters()).dtype
    lengths = (len(tokens), length, length)
    outputs: list[Any] = []
    states: list[tuple[Tensor, ...]] = []
    for shows_attention in (True, False):
        with eager_attention(module) if shows_attention else nullcontext():
            outputs = []
            for number, inputs in enumerate((alone, masked, unmasked)):
                progress(number, 3, "Running the padded sentence")
                outputs.append(_called(module, inputs, model, progress, shows_attention))
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


def _check(module: nn.Module, count: int, length: int, limit: int | None) -> None:
    name = type(module).__name__
    if "attention_mask" not in inspect.signature(module.forward).parameters:
        raise UserError(f"{name} accepts no attention mask")
    most = MOST_TOKENS if limit is None else limit
    if not count < length <= most:
        raise UserError(
            f"the padded length must be from {count + 1:,} to {most:,} tokens, not {length:,}"
        )


def _pad_token(model: LoadedModel, config: Mapping[str, Any]) -> Token:
    """Return the token that pads: the family's own, else that which ends a text, else the first."""
    ids = (config.get(key) for key in _PAD_KEYS)
    number = next((found for found in ids if isinstance(found, int) and found >= 0), 0)
    return Token(number, model.tokenizer().text_of(number), 0, is_special=True)


def _ones(inputs: Mapping[str, Any]) -> Tensor:
    ids: Tensor = inputs["input_ids"]
    return torch.ones_like(ids)


def _padded(inputs: Mapping[str, Any], length: int, pad: int) -> dict[str, Any]:
    padded = dict(inputs)
    for name, filling in _FILLED.items():
        if (row := inputs.get(name)) is not None:
            rest = row.new_full((1, length - row.shape[1]), pad if filling is None else filling)
            padded[name] = torch.cat([row, rest], dim=1)
    return padded


def _is_as_in(run: ActivationRun, states: tuple[Tensor, ...], dtype: torch.dtype) -> bool:
    """Tell whether the last state is that of the run, but for roundings."""
    if len(states) != len(run.hidden_states) or states[-1].shape != run.hidden_states[-1].shape:
        return True  # an encoder's, say, where the run has those of both sides
    return is_close(states[-1].to(dtype), torch.from_numpy(run.hidden_states[-1]))


def _called(
    module: Any,
    inputs: Mapping[str, Any],
    model: LoadedModel,
    progress: Progress,
    shows_attention: bool,
) -> Any:
    reset_model_state(module, inputs)
    more = {"output_attentions": shows_attention, "output_hidden_states": True, "return_dict": True}
    parameters = inspect.signature(module.forward).parameters.values()
    takes_any = any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters)
    names = {parameter.name for parameter in parameters}
    more = {key: value for key, value in more.items() if takes_any or key in names}
    with (
        torch.no_grad(),
        as_user_error(module, f"{model.source.name}: the padded sentence cannot be run"),
        reporting(module, progress),
    ):
        return module(**{**inputs, **more})


def _states(output: Any, count: int) -> tuple[Tensor, ...]:
    """Return the hidden states of a sentence of ``count`` tokens: [S, D] each.

    Raises:
        UserError: there are none, or they have another length, as in a model that pads by itself.
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


def _maps(output: Any) -> tuple[Tensor, ...]:
    """Return the probabilities [A, S, S] of each layer, () where they are not given."""
    found = output.get("attentions")
    found = output.get("encoder_attentions") if found is None else found
    maps = tuple(found or ())
    # SqueezeBERT gives the scores by that name, Longformer the probabilities within its windows.
    is_square = all(one.shape[-1] == one.shape[-2] for one in maps)
    is_known = is_square and all(map(are_probabilities, maps))
    return tuple(one[0].double() for one in maps) if is_known else ()


def _attentions(masked: Any, unmasked: Any, count: int) -> tuple[PaddedAttention, ...]:
    def share(maps: Tensor) -> float:
        return float(maps[:, :count, count:].sum(-1).mean())

    pairs = zip(_maps(masked), _maps(unmasked), strict=True)
    return tuple(PaddedAttention(share(one), share(other)) for one, other in pairs)
