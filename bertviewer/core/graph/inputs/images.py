"""Images and videos: whole, in patches of one long list, or in patches with their places."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from bertviewer.core.graph.inputs.forward_signature import (
    Form,
    ForwardSignature,
    Parts,
    height_and_width,
    ones,
    random,
)
from bertviewer.core.graph.inputs.texts import TOKENS

IMAGE = "image"

PIXELS = ("pixel_values", "image_pixel_values", "pixel_values_videos")
PATCHES = (*PIXELS, "flattened_patches", "hidden_states")
GRIDS = ("image_grid_thw", "grid_thw", "video_grid_thw")
PLACES = ("image_position_ids", "pixel_position_ids")
SIZES = ("image_size", "input_size", "img_size", "max_img_size", "pretrain_image_size")
PARTS: Parts = ("vision", "image", "vit", "backbone", "perception")

DEFAULT_SIDE = 224
"""The side in pixels that most models were trained on, where a configuration leaves it open."""
WINDOWED = 48
"""Patches a side that can be divided into windows of most sizes."""
MERGED = 4
"""How many times the patches that are merged into one go into each side."""


def image_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield possible inputs of a model of images, the likeliest first; nothing for other models."""
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
        self.number = partial(signature.number, parts=PARTS)
        self.channels = self.number("num_channels", "in_channels", "in_chans", default=3)
        self.patch = self.number("patch_size", "spatial_patch_size", default=16)
        self.features = self.channels * self.patch**2
        merges = ("spatial_merge_size", "merge_kernel_size", "merge_size", "pooling_kernel_size")
        self.side = MERGED * self.number(*merges, default=2)

    def in_one_list(self, name: str) -> Iterator[Form]:
        """Patches of all images in one list, and each image's numbers in time, height and width."""
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
            # What becomes one patch lies together, in rows of pixels.
            (square, square, self.channels),
        ):
            yield {name: random(self.count * side * side, *row), **sizes}

    def in_patches(self) -> Iterator[Form]:
        """Patches of each image in one row, with their numbers or places."""
        accepted, count, side = self.signature.accepted, self.count, self.side
        rows = random(count, side * side, self.features)
        sizes = torch.tensor([[side, side]] * count)
        places = torch.cartesian_prod(torch.arange(side), torch.arange(side))
        places = places.expand(count, -1, -1)
        if "spatial_shapes" in accepted:
            mask = ones(count, side * side)
            yield {"pixel_values": rows, "spatial_shapes": sizes, "pixel_attention_mask": mask}
        if name := self.signature.first_of(PLACES):
            yield {"pixel_values": rows, name: places.flip(2).contiguous()}
        if "target_sizes" in accepted:  # side by side in one long picture
            long = random(1, self.channels, self.patch, count * side * side * self.patch)
            yield {"pixel_values": long, "target_sizes": sizes}
        if "flattened_patches" in accepted:
            yield {"flattened_patches": torch.cat((places.float() + 1, rows), dim=-1)}

    def whole(self, name: str) -> Iterator[Form]:
        """Images, or videos of a few frames, with masks and sizes."""
        required = self.signature.required
        for shape in dict.fromkeys(self._shapes(is_video=name == "pixel_values_videos")):
            pixels = random(self.count, *shape)
            more = self.signature.only_accepted(self._masks(pixels))
            yield {name: pixels, **{key: more[key] for key in more if key in required}}
            if not more.keys() <= required:
                yield {name: pixels, **more}

    def _shapes(self, *, is_video: bool) -> Iterator[tuple[int, ...]]:
        channels = self.channels
        height, width = height_and_width(self.signature.config, SIZES, PARTS, DEFAULT_SIDE)
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
        """Return what a model may expect in addition to whole images."""
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
