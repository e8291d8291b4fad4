"""Time series, and what else a forward may name: boxes, points, hidden states, moves of a game."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.building.configurations import config_value
from bertviewer.core.graph.inputs.forward_signature import Dimension, Form, ForwardSignature
from bertviewer.core.graph.inputs.sounds import SAMPLES
from bertviewer.core.graph.inputs.texts import SENTENCES, TOKENS

SERIES = "time series"

CONTEXT = 512
"""Moments of the past where a model takes any number, or more than ``LONGEST``."""
LONGEST = 4096
FEW = 4
"""Boxes or points in an image."""

_WIDTH = ("hidden_size", "d_model", "dim", "embed_dim", "n_embd")
_FEATURES = ("visual_feat_dim", "visual_embedding_dim")


def series_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield possible inputs of a model of time series; nothing for other models."""
    if "past_values" not in signature.accepted:
        return
    s, count = signature, signature.count
    context = s.number("context_length", default=CONTEXT)
    lags = [lag for lag in config_value(s.config, "lags_sequence") or () if isinstance(lag, int)]
    before = (context if context <= LONGEST else CONTEXT) + max(lags, default=0)
    later = s.number("prediction_length", default=1)
    channels, features = s.number("num_input_channels", "input_size"), s.number("num_time_features")
    shapes: list[tuple[int, ...]] = [(before, channels)] if channels else []
    if channels < 2:
        # One number at each moment is usually no vector of length one.
        shapes.insert(1 if config_value(s.config, "num_time_features") is None else 0, (before,))
    for shape in shapes:
        made = {
            "past_values": s.random(count, *shape),
            "past_time_features": s.random(count, before, features),
            "past_observed_mask": s.ones(count, *shape),
            "past_values_padding": s.zeros(count, before),
            "freq": s.zeros(count, 1),
            "future_values": s.random(count, later, *shape[1:]),
            "future_time_features": s.random(count, later, features),
            "static_categorical_features": s.zeros(count, ("num_static_categorical_features",)),
            "static_real_features": s.random(count, ("num_static_real_features",)),
        }
        yield s.only_accepted({k: v for k, v in made.items() if v.numel() or "static" not in k})
    yield s.only_accepted({"past_values": [s.random(before)] * count, "freq": [0] * count})


def other_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield what a model needs in addition to text, images and sound."""
    main: Any = getattr(signature.model, "main_input_name", None) or ()
    needed = signature.required.union((main,) if isinstance(main, str) else main)
    names = {name for name in _HELPFUL if name in signature.accepted}
    names |= needed & {*_SIZES, *_MAKERS}
    # Without an encoder's states a decoder leaves out its attention to them.
    attends = config_value(signature.config, "add_cross_attention") is True
    if "query_embeds" in names or (attends and "encoder_hidden_states" in signature.accepted):
        names.add("encoder_hidden_states")
    states = partial(signature.random, SENTENCES)
    made = {
        name: _MAKERS[name](signature) if name in _MAKERS else states(*_SIZES[name])
        for name in sorted(names)
    }
    yield made
    if "context_hidden_states" in names:
        for width in signature.widths:
            yield {**made, "context_hidden_states": states(TOKENS, width)}
    if "hidden_states" in names:
        yield {**made, "hidden_states": states(TOKENS, _WIDTH)}
        channels = signature.number("audio_channels", "channels", default=1)
        yield {**made, "hidden_states": states(channels, SAMPLES)}


_SIZES: Mapping[str, tuple[Dimension, ...]] = {
    "input_points": (1, 1, 2),
    "visual_pos": (FEW, 4),
    "visual_feats": (FEW, _FEATURES),
    "visual_embeds": (FEW, _FEATURES),
    "states": (TOKENS, ("state_dim", *_WIDTH)),
    "actions": (TOKENS, ("act_dim", *_WIDTH)),
    "rewards": (TOKENS, 1),
    "returns_to_go": (TOKENS, 1),
    "query_embeds": (TOKENS, _WIDTH),
    "inputs_embeds": (TOKENS, _WIDTH),
    "noise_embeds": (TOKENS, _WIDTH),
    "context_hidden_states": (TOKENS, _WIDTH),
    "encoder_hidden_states": (TOKENS, ("encoder_hidden_size", *_WIDTH)),
    "inputs": (TOKENS, ("d_model", *_WIDTH)),
    "hidden_states": (_WIDTH, TOKENS),
    "latents": (("latent_channels", *_WIDTH), TOKENS),
}
"""Activations by their sizes for each sentence."""

_MAKERS: Mapping[str, Callable[[ForwardSignature], Tensor]] = {
    "bbox": lambda s: s.zeros(SENTENCES, TOKENS, 4),
    "timesteps": lambda s: torch.arange(s.values[TOKENS]).repeat(s.count, 1),
    "task_inputs": lambda s: s.ids(SENTENCES, s.number("task_seq_len", default=s.values[TOKENS])),
    **dict.fromkeys(
        ("tasks_input_ids", "classes_input_ids", "qformer_input_ids"),
        lambda s: s.ids(SENTENCES, TOKENS),
    ),
    **dict.fromkeys(
        ("tasks_attention_mask", "classes_attention_mask", "qformer_attention_mask"),
        lambda s: s.ones(SENTENCES, TOKENS),
    ),
    "classes_structure": lambda s: s.ones(SENTENCES),
    "action_embeds": lambda s: s.random(
        SENTENCES, TOKENS, s.number(*_WIDTH, parts=("dit", "action"))
    ),
}
_HELPFUL = (
    *("bbox", "input_points", "visual_feats", "visual_pos", "visual_embeds"),
    *("states", "actions", "rewards", "returns_to_go", "timesteps"),
)
"""Optional parameters without which a model fails."""
