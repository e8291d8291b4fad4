"""Images and videos: whole, in patches of one long list, or in patches with their places."""

from collections.abc import Iterator

import torch
from torch import Tensor

from bertviewer.core.flow.inputs.forward_signature import Form, ForwardSignature, ones, random
from bertviewer.core.flow.inputs.sizes import IMAGE_PARTS, height_and_width, number
from bertviewer.core.flow.inputs.texts import SENTENCES, TOKENS

IMAGE = "image"

PIXELS = ("pixel_values", "image_pixel_values", "pixel_values_videos")
PATCHES = (*PIXELS, "flattened_patches", "hidden_states")

DEFAULT_SIDE = 224
"""What most models of images were trained on, where a configuration leaves it open."""
WINDOWED = 48
"""So many patches a side can be parted into windows of most sizes."""
MERGED = 4
"""Patches that are merged into one go so many times into each side."""


def image_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield what a model of images may want, the most telling first; nothing for other models."""
    for names, forms in (
        (("image_grid_thw", "grid_thw", "video_grid_thw"), _listed_patches),
        (("spatial_shapes",), _shaped_patches),
        (("image_position_ids", "pixel_position_ids"), _placed_patches),
        (("target_sizes",), _strips),
        (("flattened_patches",), _numbered_patches),
    ):
        if any(name in signature.accepted for name in names):
            yield from forms(signature)
    yield from _whole(signature)


def _channels(signature: ForwardSignature) -> int:
    return number(
        signature.config, ("num_channels", "in_channels", "in_chans"), IMAGE_PARTS, default=3
    )


def _patch(signature: ForwardSignature) -> int:
    return number(signature.config, ("patch_size", "spatial_patch_size"), IMAGE_PARTS, default=16)


def _features(signature: ForwardSignature) -> int:
    """Return how many numbers a patch has, all its channels together."""
    return _channels(signature) * _patch(signature) ** 2


def _side(signature: ForwardSignature) -> int:
    """Return how many patches a side has where a model takes any number."""
    names = ("spatial_merge_size", "merge_kernel_size", "merge_size", "pooling_kernel_size")
    return MERGED * number(signature.config, names, IMAGE_PARTS, default=2)


def _listed_patches(signature: ForwardSignature) -> Iterator[Form]:
    """Patches of all images in one list, and how many each image has in time, height and width."""
    name = signature.first_of(PATCHES)
    if name is None:
        return
    grid = "video_grid_thw" if name == "pixel_values_videos" else "image_grid_thw"
    grid = grid if grid in signature.accepted else "grid_thw"
    images, side = signature.values[SENTENCES], _side(signature)
    count = images * side * side
    shape = {
        grid: torch.tensor([[1, side, side]] * images),
        "merge_sizes": torch.full((images,), side // MERGED),
        "image_merge_sizes": torch.full((images,), side // MERGED),
        "images_per_sample": ones(images),
    }
    shape = {key: value for key, value in shape.items() if key in signature.accepted}
    frames = number(signature.config, ("temporal_patch_size",), IMAGE_PARTS, default=2)
    width = number(signature.config, ("hidden_size", "embed_dim"), IMAGE_PARTS)
    patch = _patch(signature)
    for row in (
        (frames * _features(signature),),
        (_features(signature),),
        (_channels(signature), patch, patch),
        (width,),
        signature.widths[:1],
    ):
        yield {name: random(count, *row), **shape}
    # What becomes one patch lies together, in rows of pixels.
    square = side // MERGED * patch
    yield {name: random(count, square, square, _channels(signature)), **shape}


def _shaped_patches(signature: ForwardSignature) -> Iterator[Form]:
    """Patches of each image in a row of its own, and how many it has in height and width."""
    images, side = signature.values[SENTENCES], _side(signature)
    yield {
        "pixel_values": random(images, side * side, _features(signature)),
        "spatial_shapes": torch.tensor([[side, side]] * images),
        "pixel_attention_mask": ones(images, side * side),
    }


def _placed_patches(signature: ForwardSignature) -> Iterator[Form]:
    """Patches of each image in a row of its own, and the column and row of each patch."""
    name = signature.first_of(("image_position_ids", "pixel_position_ids"))
    images, side = signature.values[SENTENCES], _side(signature)
    places = torch.cartesian_prod(torch.arange(side), torch.arange(side)).flip(1)
    patches = random(images, side * side, _features(signature))
    yield {"pixel_values": patches, str(name): places.expand(images, -1, -1).contiguous()}


def _strips(signature: ForwardSignature) -> Iterator[Form]:
    """Patches side by side in one long picture, and how many each image has."""
    images, side, patch = signature.values[SENTENCES], _side(signature), _patch(signature)
    shape = torch.tensor([[side, side]] * images)
    long = random(1, _channels(signature), patch, images * side * side * patch)
    yield {"pixel_values": long, "target_sizes": shape}


def _numbered_patches(signature: ForwardSignature) -> Iterator[Form]:
    """Patches of each image in a row of its own, each with its row and column before it."""
    images, side = signature.values[SENTENCES], _side(signature)
    places = torch.cartesian_prod(torch.arange(side), torch.arange(side)).float() + 1
    places = places.expand(images, -1, -1)
    patches = torch.cat((places, random(images, side * side, _features(signature))), dim=-1)
    yield {"flattened_patches": patches}


def _whole(signature: ForwardSignature) -> Iterator[Form]:
    name = signature.first_of(PIXELS)
    if name is None:
        return
    keys = ("image_size", "input_size", "img_size", "max_img_size", "pretrain_image_size")
    height, width = height_and_width(signature.config, keys, IMAGE_PARTS, DEFAULT_SIDE)
    if "prompt_pixel_values" in signature.required:
        height //= 2  # an image lies below its prompt
    images, channels = signature.values[SENTENCES], _channels(signature)
    frames = number(
        signature.config,
        ("num_frames", "frames_per_clip", "num_image_with_embedding"),
        IMAGE_PARTS,
        2,
    )
    picture = (channels, height, width)
    shapes: list[tuple[int, ...]] = [
        (images, *picture),
        (images, 1, *picture),
        (images, frames, *picture),
        (images, 1, 1, *picture),
    ]
    if name == "pixel_values_videos":
        shapes = shapes[2:3]
    else:
        shapes += [(images, channels, side, side) for side in _other_sides(signature)]
        shapes += [(images, 1, DEFAULT_SIDE, DEFAULT_SIDE)]
    for shape in dict.fromkeys(shape for shape in shapes if all(shape)):
        pixels = random(*shape)
        beside = _beside(signature, pixels)
        yield {name: pixels, **{key: beside[key] for key in beside if key in signature.required}}
        if not beside.keys() <= signature.required:
            yield {name: pixels, **beside}


def _other_sides(signature: ForwardSignature) -> Iterator[int]:
    """Yield what a model may want that says nothing of sizes, or what fits most windows."""
    yield from (DEFAULT_SIDE, 640, WINDOWED * _patch(signature))
    if number(signature.config, ("patch_size",)) > DEFAULT_SIDE:
        yield 4 * number(signature.config, ("patch_size",))


def _beside(signature: ForwardSignature, pixels: Tensor) -> Form:
    """Return what a model may want beside whole images."""
    images, height, width = pixels.shape[0], *pixels.shape[-2:]
    patch = _patch(signature)
    patches = height // patch, width // patch
    frames = number(signature.config, ("tubelet_size",), IMAGE_PARTS, default=1)
    times = pixels.shape[1] // frames if pixels.dim() == 5 else 1
    tiles = pixels.shape[1:-3]
    tokens = signature.values[TOKENS]
    made = {
        "image_attention_mask": ones(images, tokens, *tiles[:1]),
        "image_sizes": torch.tensor([[height, width]] * images),
        "pixel_mask": ones(images, height, width),
        "pixel_attention_mask": ones(images, *tiles[:1]),
        "patch_attention_mask": torch.ones((images, *patches), dtype=torch.bool),
        "aspect_ratio_ids": ones(images, *tiles[:1]),
        "aspect_ratio_mask": ones(images, *tiles),
    }
    if "bool_masked_pos" in signature.required or "context_mask" in signature.required:
        made["bool_masked_pos"] = torch.zeros(
            (images, times * patches[0] * patches[1]), dtype=torch.bool
        )
    if "prompt_pixel_values" in signature.required:
        made |= {"prompt_pixel_values": pixels, "prompt_masks": pixels}
    return {name: value for name, value in made.items() if name in signature.accepted}
