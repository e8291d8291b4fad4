"""Sound: samples as they were recorded, or the loudness of each pitch over time."""

from collections.abc import Iterator, Sequence
from itertools import product

import torch

from bertviewer.core.graph.inputs.forward_signature import Form, ForwardSignature
from bertviewer.core.graph.inputs.sizes import SOUND_PARTS

SOUND = "sound"

SAMPLES = 19_200
"""About a second; a multiple of the hop of every codec."""
HOP = 320
"""Samples to one frame where a model takes both: those of Wav2Vec2's convolutions."""
FRAMES = (800, 256)
"""Frames where a configuration leaves it open: divisible into windows of 100 or of 64."""

FEATURES = ("input_features", "audio_input_features", "audio_mel")

_PITCHES = (
    *("num_mel_bins", "n_mels", "feature_projection_input_dim", "input_feat_per_channel"),
    *("input_feat_size", "mel_bins", "num_mels", "model_in_channels", "feature_size"),
    *("input_dim", "input_size"),
)


def sound_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield possible inputs of a model of sound, the likeliest first; nothing for other models."""
    if {"input_features", "input_values"} <= signature.required:
        samples = list(_samples(signature))
        yield from ({**one, **other} for one in _features(signature) for other in samples)
    else:
        yield from _samples(signature)
        yield from _features(signature)


def _sizes(signature: ForwardSignature) -> tuple[Sequence[int], Sequence[int]]:
    """Return numbers of pitches and of frames: what the configuration says, then common ones."""
    pitches = [signature.number(key, parts=SOUND_PARTS) for key in _PITCHES]
    pitches += [*signature.widths[:1], 80, 128]
    frames = [
        2 * signature.number("max_source_positions", parts=SOUND_PARTS),
        signature.number("max_length", "nb_max_frames", "n_frames", parts=SOUND_PARTS),
        *FRAMES,
        *((SAMPLES // HOP,) if "input_values" in signature.accepted else ()),
    ]
    return (
        list(dict.fromkeys(count for count in pitches if count > 1)),
        list(dict.fromkeys(count for count in frames if 32 <= count <= 4096)),
    )


def _features(signature: ForwardSignature) -> Iterator[Form]:
    name = signature.first_of(FEATURES)
    if name is None:
        return
    count = signature.count
    for pitches, frames in product(*_sizes(signature)):
        masks = signature.only_accepted(
            {
                "input_features_mask": signature.ones(count, frames),
                "feature_attention_mask": signature.ones(count, frames),
                "audio_mel_mask": torch.zeros((count, frames), dtype=torch.bool),
                "is_longer": torch.zeros((count, 1), dtype=torch.bool),
            }
        )
        for shape in ((pitches, frames), (frames, pitches), (1, frames, pitches)):
            yield {name: signature.random(count, *shape), **masks}


def _samples(signature: ForwardSignature) -> Iterator[Form]:
    if "input_values" not in signature.accepted:
        return
    count = signature.count
    channels = signature.number("audio_channels", "channels", parts=SOUND_PARTS, default=1)
    is_masked = "padding_mask" in signature.required
    masks = {"padding_mask": signature.ones(count, SAMPLES)} if is_masked else {}
    for before in ((), (channels,)):
        yield {"input_values": signature.random(count, *before, SAMPLES), **masks}
    if "input_values" in signature.required:
        return
    for shape in product(*reversed(_sizes(signature))):
        yield {"input_values": signature.random(count, *shape)}
    width = signature.number("hidden_size", parts=SOUND_PARTS)
    states = signature.random(count, FRAMES[0], width)
    yield signature.only_accepted({"input_values": states, "decoder_input_values": states})
