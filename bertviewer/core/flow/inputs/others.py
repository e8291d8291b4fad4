"""What else a forward may name: boxes, points, latent vectors, hidden states, a game's moves."""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from bertviewer.core.flow.inputs.sizes import ACTION_PARTS, Parts, number
from bertviewer.core.flow.inputs.sounds import SAMPLES
from bertviewer.core.flow.inputs.texts import SENTENCES, TOKENS, token_ids
from bertviewer.core.flow.inputs.wanted import Form, Wanted, ones, random

FEW = 4
"""So many boxes or points in an image."""

_WIDTH = ("hidden_size", "d_model", "dim", "embed_dim", "n_embd")


def other_forms(wanted: Wanted) -> Iterator[Form]:
    """Yield what a model wants beside text, images and sound, and is not to be had without."""
    names = {name for name in _HELPFUL if name in wanted.accepted}
    names |= {name for name in _MAKERS if name in wanted.required | wanted.main}
    # Without an encoder's states a decoder leaves its attention to them out.
    attends = getattr(wanted.config, "add_cross_attention", False) is True
    if "query_embeds" in names or (attends and "encoder_hidden_states" in wanted.accepted):
        names |= {"encoder_hidden_states"}
    made = {name: _MAKERS[name](wanted) for name in sorted(names)}
    yield made
    if "context_hidden_states" in names:
        for width in wanted.widths:
            states = random(wanted.values[SENTENCES], wanted.values[TOKENS], width)
            yield {**made, "context_hidden_states": states}
    if "hidden_states" in names:
        yield {**made, "hidden_states": _MAKERS["inputs_embeds"](wanted)}
        channels = number(wanted.config, ("audio_channels", "channels"), default=1)
        yield {**made, "hidden_states": random(wanted.values[SENTENCES], channels, SAMPLES)}


def _states(*names: str, parts: Parts = ()) -> Callable[[Wanted], Tensor]:
    """Return what makes a vector for each token, as wide as a key of the configuration says."""

    def made(wanted: Wanted) -> Tensor:
        width = number(wanted.config, (*names, *_WIDTH), parts)
        return random(wanted.values[SENTENCES], wanted.values[TOKENS], width)

    return made


def _columns(*names: str) -> Callable[[Wanted], Tensor]:
    """Return what makes a vector for each moment, channels first."""

    def made(wanted: Wanted) -> Tensor:
        width = number(wanted.config, (*names, *_WIDTH))
        return random(wanted.values[SENTENCES], width, wanted.values[TOKENS])

    return made


def _numbers(*rest: int) -> Callable[[Wanted], Tensor]:
    def made(wanted: Wanted) -> Tensor:
        return random(wanted.values[SENTENCES], *rest)

    return made


def _ids(wanted: Wanted) -> Tensor:
    return token_ids(wanted.config, (wanted.values[SENTENCES], wanted.values[TOKENS]))


def _mask(wanted: Wanted) -> Tensor:
    return ones(wanted.values[SENTENCES], wanted.values[TOKENS])


def _boxes(wanted: Wanted) -> Tensor:
    return 0 * ones(wanted.values[SENTENCES], wanted.values[TOKENS], 4)


def _task(wanted: Wanted) -> Tensor:
    length = number(wanted.config, ("task_seq_len",), default=wanted.values[TOKENS])
    return token_ids(wanted.config, (wanted.values[SENTENCES], length))


def _one_each(wanted: Wanted) -> Tensor:
    return ones(wanted.values[SENTENCES])


def _steps(wanted: Wanted) -> Tensor:
    return torch.arange(wanted.values[TOKENS]).repeat(wanted.values[SENTENCES], 1)


def _rewards(wanted: Wanted) -> Tensor:
    return random(wanted.values[SENTENCES], wanted.values[TOKENS], 1)


def _feats(wanted: Wanted) -> Tensor:
    width = number(wanted.config, ("visual_feat_dim", "visual_embedding_dim"))
    return random(wanted.values[SENTENCES], FEW, width)


_MAKERS: Mapping[str, Callable[[Wanted], Tensor]] = {
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
