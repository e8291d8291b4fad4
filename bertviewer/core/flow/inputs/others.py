"""What else a forward may name: boxes, points, latent vectors, hidden states, a game's moves."""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from bertviewer.core.building.config_values import config_value
from bertviewer.core.flow.inputs.forward_signature import Form, ForwardSignature, ones, random
from bertviewer.core.flow.inputs.sizes import ACTION_PARTS, Parts, number
from bertviewer.core.flow.inputs.sounds import SAMPLES
from bertviewer.core.flow.inputs.texts import SENTENCES, TOKENS, token_ids

FEW = 4
"""So many boxes or points in an image."""

_WIDTH = ("hidden_size", "d_model", "dim", "embed_dim", "n_embd")


def other_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield what a model wants beside text, images and sound, and is not to be had without."""
    names = {name for name in _HELPFUL if name in signature.accepted}
    names |= {name for name in _MAKERS if name in signature.required | signature.main}
    # Without an encoder's states a decoder leaves its attention to them out.
    attends = config_value(signature.config, "add_cross_attention") is True
    if "query_embeds" in names or (attends and "encoder_hidden_states" in signature.accepted):
        names |= {"encoder_hidden_states"}
    made = {name: _MAKERS[name](signature) for name in sorted(names)}
    yield made
    if "context_hidden_states" in names:
        for width in signature.widths:
            states = random(signature.values[SENTENCES], signature.values[TOKENS], width)
            yield {**made, "context_hidden_states": states}
    if "hidden_states" in names:
        yield {**made, "hidden_states": _MAKERS["inputs_embeds"](signature)}
        channels = number(signature.config, ("audio_channels", "channels"), default=1)
        yield {**made, "hidden_states": random(signature.values[SENTENCES], channels, SAMPLES)}


def _states(*names: str, parts: Parts = ()) -> Callable[[ForwardSignature], Tensor]:
    """Return what makes a vector for each token, as wide as a key of the configuration says."""

    def made(signature: ForwardSignature) -> Tensor:
        width = number(signature.config, (*names, *_WIDTH), parts)
        return random(signature.values[SENTENCES], signature.values[TOKENS], width)

    return made


def _columns(*names: str) -> Callable[[ForwardSignature], Tensor]:
    """Return what makes a vector for each moment, channels first."""

    def made(signature: ForwardSignature) -> Tensor:
        width = number(signature.config, (*names, *_WIDTH))
        return random(signature.values[SENTENCES], width, signature.values[TOKENS])

    return made


def _numbers(*rest: int) -> Callable[[ForwardSignature], Tensor]:
    def made(signature: ForwardSignature) -> Tensor:
        return random(signature.values[SENTENCES], *rest)

    return made


def _ids(signature: ForwardSignature) -> Tensor:
    return token_ids(signature.config, (signature.values[SENTENCES], signature.values[TOKENS]))


def _mask(signature: ForwardSignature) -> Tensor:
    return ones(signature.values[SENTENCES], signature.values[TOKENS])


def _boxes(signature: ForwardSignature) -> Tensor:
    return 0 * ones(signature.values[SENTENCES], signature.values[TOKENS], 4)


def _task(signature: ForwardSignature) -> Tensor:
    length = number(signature.config, ("task_seq_len",), default=signature.values[TOKENS])
    return token_ids(signature.config, (signature.values[SENTENCES], length))


def _one_each(signature: ForwardSignature) -> Tensor:
    return ones(signature.values[SENTENCES])


def _steps(signature: ForwardSignature) -> Tensor:
    return torch.arange(signature.values[TOKENS]).repeat(signature.values[SENTENCES], 1)


def _rewards(signature: ForwardSignature) -> Tensor:
    return random(signature.values[SENTENCES], signature.values[TOKENS], 1)


def _feats(signature: ForwardSignature) -> Tensor:
    width = number(signature.config, ("visual_feat_dim", "visual_embedding_dim"))
    return random(signature.values[SENTENCES], FEW, width)


_MAKERS: Mapping[str, Callable[[ForwardSignature], Tensor]] = {
    "bbox": _boxes,
    "input_points": _numbers(1, 1, 2),
    "visual_feats": _feats,
    "visual_pos": _numbers(FEW, 4),
    "visual_embeds": _feats,
    "states": _states("state_dim"),
    "actions": _states("act_dim"),
    "rewards": _rewards,
    "returns_to_go": _rewards,
    "timesteps": _steps,
    "task_inputs": _task,
    "tasks_input_ids": _ids,
    "tasks_attention_mask": _mask,
    "classes_input_ids": _ids,
    "classes_attention_mask": _mask,
    "classes_structure": _one_each,
    "qformer_input_ids": _ids,
    "qformer_attention_mask": _mask,
    "query_embeds": _states(),
    "encoder_hidden_states": _states("encoder_hidden_size"),
    "inputs": _states("d_model"),
    "inputs_embeds": _states(),
    "hidden_states": _columns(),
    "noise_embeds": _states(),
    "context_hidden_states": _states(),
    "action_embeds": _states(parts=ACTION_PARTS),
    "latents": _columns("latent_channels"),
}
_HELPFUL = (
    *("bbox", "input_points", "visual_feats", "visual_pos", "visual_embeds"),
    *("states", "actions", "rewards", "returns_to_go", "timesteps"),
)
"""Those that a model fails without although its forward has a default for them."""
