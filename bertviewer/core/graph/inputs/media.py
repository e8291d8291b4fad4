"""Inputs other than text: images, videos, sound, time series, boxes, hidden states."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.building.configurations import config_value
from bertviewer.core.expressions.symbols import SENTENCES, TOKENS
from bertviewer.core.graph.inputs.signature import (
    Dimension,
    Form,
    ForwardSignature,
    Parts,
    height_and_width,
    ones,
    random,
)

IMAGE = "image"
PIXELS = ("pixel_values", "image_pixel_values", "pixel_values_videos")
PATCHES = (*PIXELS, "flattened_patches", "hidden_states")
GRIDS = ("image_grid_thw", "grid_thw", "video_grid_thw")
POSITIONS = ("image_position_ids", "pixel_position_ids")
SIZES = ("image_size", "input_size", "img_size", "max_img_size", "pretrain_image_size")
_IMAGE_PARTS: Parts = ("vision", "image", "vit", "backbone", "perception")
DEFAULT_SIDE = 224
"""Side in pixels if a configuration has none."""

WINDOWED = 48
"""Patches per side, divisible into windows of most sizes."""

MERGED = 4
"""Merged patches per side."""


def image_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield possible inputs of a model of images, likely ones first; none for other models."""
    images = _Images(signature)
    if signature.first_of(GRIDS) and (name := signature.first_of(PATCHES)):
        yield from images.in_one_list(name)
    yield from images.in_patches()
    if name := signature.first_of(PIXELS):
        yield from images.whole(name)


class _Images:
    """Makes the images of one model: ``patch`` is a side in pixels, ``side`` one in patches."""

    def __init__(self, signature: ForwardSignature) -> None:
        self.signature, self.count = signature, signature.count
        self.number = partial(signature.number, parts=_IMAGE_PARTS)
        self.channels = self.number("num_channels", "in_channels", "in_chans", default=3)
        self.patch = self.number("patch_size", "spatial_patch_size", default=16)
        self.features = self.channels * self.patch**2
        merges = ("spatial_merge_size", "merge_kernel_size", "merge_size", "pooling_kernel_size")
        self.side = MERGED * self.number(*merges, default=2)

    def in_one_list(self, name: str) -> Iterator[Form]:
        """Yield patches of all images in one list, with the grid of each image."""
        side, patch = self.side, self.patch
        grid = "video_grid_thw" if name == "pixel_values_videos" else "image_grid_thw"
        grid = grid if grid in self.signature.accepted else "grid_thw"
        merged = torch.full((self.count,), side // MERGED)
        sizes = self.signature.only_accepted(
            {
                grid: torch.tensor([[1, side, side]] * self.count),
                "merge_sizes": merged,
                "image_merge_sizes": merged,
                "images_per_sample": ones(self.count),
            }
        )
        square = side // MERGED * patch
        for row in (
            (self.number("temporal_patch_size", default=2) * self.features,),
            (self.features,),
            (self.channels, patch, patch),
            (self.number("hidden_size", "embed_dim"),),
            self.signature.widths[:1],
            # The pixels of merged patches, in rows.
            (square, square, self.channels),
        ):
            yield {name: random(self.count * side * side, *row), **sizes}

    def in_patches(self) -> Iterator[Form]:
        """Yield patches of each image in one row, with their grid or positions."""
        accepted, count, side = self.signature.accepted, self.count, self.side
        rows = random(count, side * side, self.features)
        sizes = torch.tensor([[side, side]] * count)
        places = torch.cartesian_prod(torch.arange(side), torch.arange(side))
        places = places.expand(count, -1, -1)
        if "spatial_shapes" in accepted:
            mask = ones(count, side * side)
            yield {"pixel_values": rows, "spatial_shapes": sizes, "pixel_attention_mask": mask}
        if name := self.signature.first_of(POSITIONS):
            yield {"pixel_values": rows, name: places.flip(2).contiguous()}
        if "target_sizes" in accepted:  # side by side in one long picture
            long = random(1, self.channels, self.patch, count * side * side * self.patch)
            yield {"pixel_values": long, "target_sizes": sizes}
        if "flattened_patches" in accepted:
            yield {"flattened_patches": torch.cat((places.float() + 1, rows), dim=-1)}

    def whole(self, name: str) -> Iterator[Form]:
        """Yield images, or videos of a few frames, with masks and sizes."""
        required = self.signature.required
        for shape in dict.fromkeys(self._shapes(is_video=name == "pixel_values_videos")):
            pixels = random(self.count, *shape)
            more = self.signature.only_accepted(self._masks(pixels))
            yield {name: pixels, **{key: more[key] for key in more if key in required}}
            if not more.keys() <= required:
                yield {name: pixels, **more}

    def _shapes(self, *, is_video: bool) -> Iterator[tuple[int, ...]]:
        channels = self.channels
        height, width = height_and_width(self.signature.config, SIZES, _IMAGE_PARTS, DEFAULT_SIDE)
        if "prompt_pixel_values" in self.signature.required:
            height //= 2  # an image lies below its prompt
        frames = self.number("num_frames", "frames_per_clip", "num_image_with_embedding", default=2)
        for before in ((frames,),) if is_video else ((), (1,), (frames,), (1, 1)):
            if all(shape := (*before, channels, height, width)):
                yield shape
        if not is_video:
            large = self.signature.number("patch_size")
            sides = (DEFAULT_SIDE, 640, WINDOWED * self.patch, 4 * large)
            yield from ((channels, n, n) for n in (sides if large > DEFAULT_SIDE else sides[:3]))
            yield 1, DEFAULT_SIDE, DEFAULT_SIDE

    def _masks(self, pixels: Tensor) -> Form:
        """Return further arguments that a model may expect with images."""
        count, height, width = self.count, *pixels.shape[-2:]
        tiles, required = pixels.shape[1:-3], self.signature.required
        made = {
            "image_attention_mask": self.signature.ones(count, TOKENS, *tiles[:1]),
            "image_sizes": torch.tensor([[height, width]] * count),
            "pixel_attention_mask": ones(count, *tiles[:1]),
        }
        if not required.isdisjoint(("bool_masked_pos", "context_mask")):
            frames = self.number("tubelet_size", default=1)
            times = pixels.shape[1] // frames if pixels.dim() == 5 else 1
            patches = times * (height // self.patch) * (width // self.patch)
            made["bool_masked_pos"] = torch.zeros((count, patches), dtype=torch.bool)
        if "prompt_pixel_values" in required:
            made |= {"prompt_pixel_values": pixels, "prompt_masks": pixels}
        return made


SOUND = "sound"
SAMPLES = 19_200
"""About a second; a multiple of the hop of every codec."""

HOP = 320
"""Samples per frame if a model reads both, as in Wav2Vec2."""

FRAMES = (800, 256)
"""Numbers of frames if a configuration has none, divisible by 100 or by 64."""

FEATURES = ("input_features", "audio_input_features", "audio_mel")
_SOUND_PARTS: Parts = ("audio", "speech", "acoustic", "sound", "semantic", "codec")
_BANDS = (
    *("num_mel_bins", "n_mels", "feature_projection_input_dim", "input_feat_per_channel"),
    *("input_feat_size", "mel_bins", "num_mels", "model_in_channels", "feature_size"),
    *("input_dim", "input_size"),
)
_Sizes = tuple[tuple[int, ...], tuple[int, ...]]
"""Numbers of frequency bands, and of frames."""


def sound_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield possible inputs of a model of sound, likely ones first; none for other models."""
    number = partial(signature.number, parts=_SOUND_PARTS)
    # Numbers of the configuration, then common ones.
    bands = [*map(number, _BANDS), *signature.widths[:1], 80, 128]
    frames = [
        2 * number("max_source_positions"),
        number("max_length", "nb_max_frames", "n_frames"),
        *FRAMES,
        *((SAMPLES // HOP,) if "input_values" in signature.accepted else ()),
    ]
    sizes = (
        tuple(dict.fromkeys(count for count in bands if count > 1)),
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
    for bands, frames in product(*sizes) if name else ():
        masks = signature.only_accepted(
            {
                "input_features_mask": signature.ones(count, frames),
                "feature_attention_mask": signature.ones(count, frames),
                "audio_mel_mask": torch.zeros((count, frames), dtype=torch.bool),
                "is_longer": torch.zeros((count, 1), dtype=torch.bool),
            }
        )
        for shape in ((bands, frames), (frames, bands), (1, frames, bands)):
            yield {str(name): signature.random(count, *shape), **masks}


def _samples(signature: ForwardSignature, sizes: _Sizes) -> Iterator[Form]:
    if "input_values" not in signature.accepted:
        return
    count = signature.count
    number = partial(signature.number, parts=_SOUND_PARTS)
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


SERIES = "time series"
CONTEXT = 512
"""Past time steps if a model accepts any number, or more than ``LONGEST``."""

LONGEST = 4096
FEW = 4
"""Number of boxes or points in an image."""

_WIDTH = ("hidden_size", "d_model", "dim", "embed_dim", "n_embd")
_FEATURES = ("visual_feat_dim", "visual_embedding_dim")


def series_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield possible inputs of a model of time series; none for other models."""
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
        # One number per time step usually has no separate axis.
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
    """Yield further arguments besides text, images and sound."""
    main: Any = getattr(signature.model, "main_input_name", None) or ()
    needed = signature.required.union((main,) if isinstance(main, str) else main)
    names = {name for name in _HELPFUL if name in signature.accepted}
    names |= needed & {*_SIZES, *_MAKERS}
    # Without an encoder's states a decoder skips cross-attention.
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
"""Sizes of activations for each sentence."""

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
