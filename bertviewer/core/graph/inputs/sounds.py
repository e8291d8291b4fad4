"""Sound: samples as they were recorded, or the loudness of each pitch over time."""

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch

from bertviewer.core.graph.inputs.forward_signature import Form, ForwardSignature, Parts

SOUND = "sound"

SAMPLES = 19_200
"""About a second; a multiple of the hop of every codec."""
HOP = 320
"""Samples to one frame where a model takes both: those of Wav2Vec2's convolutions."""
FRAMES = (800, 256)
"""Frames where a configuration leaves it open: divisible into windows of 100 or of 64."""

FEATURES = ("input_features", "audio_input_features", "audio_mel")

_PARTS: Parts = ("audio", "speech", "acoustic", "sound", "semantic", "codec")
_PITCHES = (
    *("num_mel_bins", "n_mels", "feature_projection_input_dim", "input_feat_per_channel"),
    *("input_feat_size", "mel_bins", "num_mels", "model_in_channels", "feature_size"),
    *("input_dim", "input_size"),
)

_Sizes = tuple[tuple[int, ...], tuple[int, ...]]
"""Numbers of pitches, and of frames."""


def sound_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield possible inputs of a model of sound, the likeliest first; nothing for other models."""
    number = partial(signature.number, parts=_PARTS)
    # What the configuration says, then common numbers.
    pitches = [*map(number, _PITCHES), *signature.widths[:1], 80, 128]
    frames = [
        2 * number("max_source_positions"),
        number("max_length", "nb_max_frames", "n_frames"),
        *FRAMES,
        *((SAMPLES // HOP,) if "input_values" in signature.accepted else ()),
    ]
    sizes = (
        tuple(dict.fromkeys(count for count in pitches if count > 1)),
        tuple(dict.fromkeys(count for count in frames if 32 <= count <= 4096)),
    )
    if {"input_features", "input_values"} <= signature.required:
        for features, samples in product(_features(signature, sizes), _samples(signature, sizes)):
            yield {**features, **samples}
    else:
        yield from _samples(signature, sizes)
        yield from _features(signature, sizes)


def _features(signature: ForwardSignature, sizes: _Sizes) -> Iterator[Form]:
    name, count = signature.first_of(FEATURES), signature.count
    for pitches, frames in product(*sizes) if name else ():
        masks = signature.only_accepted(
            {
                "input_features_mask": signature.ones(count, frames),
                "feature_attention_mask": signature.ones(count, frames),
                "audio_mel_mask": torch.zeros((count, frames), dtype=torch.bool),
                "is_longer": torch.zeros((count, 1), dtype=torch.bool),
            }
        )
        for shape in ((pitches, frames), (frames, pitches), (1, frames, pitches)):
            yield {str(name): signature.random(count, *shape), **masks}


def _samples(signature: ForwardSignature, sizes: _Sizes) -> Iterator[Form]:
    if "input_values" not in signature.accepted:
        return
    count = signature.count
    number = partial(signature.number, parts=_PARTS)
    is_masked = "padding_mask" in signature.required
    masks = {"padding_mask": signature.ones(count, SAMPLES)} if is_masked else {}
    for before in ((), (number("audio_channels", "channels", default=1),)):
        yield {"input_values": signature.random(count, *before, SAMPLES), **masks}
    if "input_values" in signature.required:
        return
    for shape in product(*reversed(sizes)):
        yield {"input_values": signature.random(count, *shape)}
    states = signature.random(count, FRAMES[0], number("hidden_size"))
    yield signature.only_accepted({"input_values": states, "decoder_input_values": states})
