"""Sound: samples as they were recorded, or how loud each pitch is from moment to moment."""

from collections.abc import Iterator

import torch

from bertviewer.core.flow.inputs.forward_signature import Form, ForwardSignature, ones, random
from bertviewer.core.flow.inputs.sizes import SOUND_PARTS, number
from bertviewer.core.flow.inputs.texts import SENTENCES

SOUND = "sound"

SAMPLES = 19_200
"""A second or so, and what the hops of all codecs go into."""
HOP = 320
"""Samples that become one moment where a model takes both: those of Wav2Vec2's convolutions."""
FRAMES = (800, 256)
"""So many moments, where a configuration leaves it open: windows of 100 or of 64 divide it."""

FEATURES = ("input_features", "audio_input_features", "audio_mel")


def sound_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield what a model of sound may want, the most telling first; nothing for other models."""
    features, samples = list(_feature_forms(signature)), list(_sample_forms(signature))
    if features and samples and {"input_features", "input_values"} <= signature.required:
        yield from ({**one, **other} for one in features for other in samples)
    else:
        yield from samples
        yield from features


def _frames(signature: ForwardSignature) -> Iterator[int]:
    """Yield numbers of moments: what a table of positions is for, and a plain one."""
    halved = number(signature.config, ("max_source_positions",), SOUND_PARTS)
    exact = number(signature.config, ("max_length", "nb_max_frames", "n_frames"), SOUND_PARTS)
    counts = [2 * halved, exact, *FRAMES]
    if "input_values" in signature.accepted:
        counts.append(SAMPLES // HOP)
    yield from dict.fromkeys(count for count in counts if 32 <= count <= 4096)


def _pitches(signature: ForwardSignature) -> tuple[int, ...]:
    names = (
        *("num_mel_bins", "n_mels", "feature_projection_input_dim", "input_feat_per_channel"),
        *("input_feat_size", "mel_bins", "num_mels", "model_in_channels", "feature_size"),
        *("input_dim", "input_size"),
    )
    found = [number(signature.config, (name,), SOUND_PARTS) for name in names]
    found += [*signature.widths[:1], 80, 128]
    return tuple(dict.fromkeys(count for count in found if count > 1))


def _feature_forms(signature: ForwardSignature) -> Iterator[Form]:
    name = signature.first_of(FEATURES)
    if name is None:
        return
    sounds = signature.values[SENTENCES]
    for pitches in _pitches(signature):
        for frames in _frames(signature):
            made = {
                "input_features_mask": ones(sounds, frames),
                "feature_attention_mask": ones(sounds, frames),
                "audio_mel_mask": torch.zeros((sounds, frames), dtype=torch.bool),
                "is_longer": torch.zeros((sounds, 1), dtype=torch.bool),
            }
            beside = {key: value for key, value in made.items() if key in signature.accepted}
            for shape in ((pitches, frames), (frames, pitches), (1, frames, pitches)):
                yield {name: random(sounds, *shape), **beside}


def _sample_forms(signature: ForwardSignature) -> Iterator[Form]:
    if "input_values" not in signature.accepted:
        return
    sounds = signature.values[SENTENCES]
    channels = number(signature.config, ("audio_channels", "channels"), SOUND_PARTS, default=1)
    masks = {"padding_mask": ones(sounds, SAMPLES)} if "padding_mask" in signature.required else {}
    for shape in ((SAMPLES,), (channels, SAMPLES)):
        yield {"input_values": random(sounds, *shape), **masks}
    if "input_values" in signature.required:
        return
    for frames in _frames(signature):
        for pitches in _pitches(signature):
            yield {"input_values": random(sounds, frames, pitches)}
    states = random(sounds, FRAMES[0], number(signature.config, ("hidden_size",), SOUND_PARTS))
    names = ("input_values", "decoder_input_values")
    yield {name: states for name in names if name in signature.accepted}
