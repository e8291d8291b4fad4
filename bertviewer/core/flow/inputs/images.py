"""Images and videos: whole, in patches of one long list, or in patches with their places."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import torch
from torch import Tensor

from bertviewer.core.flow.inputs.forward_signature import Form, ForwardSignature, ones, random
from bertviewer.core.flow.inputs.sizes import IMAGE_PARTS, height_and_width
from bertviewer.core.flow.inputs.texts import TOKENS
from bertviewer.core.frozen import frozen

IMAGE = "image"

PIXELS = ("pixel_values", "image_pixel_values", "pixel_values_videos")
PATCHES = (*PIXELS, "flattened_patches", "hidden_states")
PLACES = ("image_position_ids", "pixel_position_ids")
SIZES = ("image_size", "input_size", "img_size", "max_img_size", "pretrain_image_size")

DEFAULT_SIDE = 224
"""The side in pixels that most models were trained on, where a configuration leaves it open."""
WINDOWED = 48
"""Patches a side that can be divided into windows of most sizes."""
MERGED = 4
"""How many times the patches that are merged into one go into each side."""


def image_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield possible inputs of a model of images, the likeliest first; nothing for other models."""
    images = _Images(signature)
    for names, forms in _FORMS.items():
        if signature.first_of(names):
            yield from forms(images)


@frozen(slots=False)
class _Images:
    """Makes the images of one model; sizes are in pixels, ``side`` in patches."""

    signature: ForwardSignature

    @cached_property
    def count(self) -> int:
        return self.signature.count

    @cached_property
    def channels(self) -> int:
        return self._number("num_channels", "in_channels", "in_chans", default=3)

    @cached_property
    def patch(self) -> int:
        return self._number("patch_size", "spatial_patch_size", default=16)

    @cached_property
    def features(self) -> int:
        """The numbers of a patch, all its channels together."""
        return self.channels * self.patch**2

    @cached_property
    def side(self) -> int:
        names = ("spatial_merge_size", "merge_kernel_size", "merge_size", "pooling_kernel_size")
        return MERGED * self._number(*names, default=2)

    def listed(self) -> Iterator[Form]:
        """Patches of all images in one list, and each image's numbers in time, height and width."""
        name = self.signature.first_of(PATCHES)
        if name is None:
            return
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
            (self._number("temporal_patch_size", default=2) * self.features,),
            (self.features,),
            (self.channels, patch, patch),
            (self._number("hidden_size", "embed_dim"),),
            self.signature.widths[:1],
            # What becomes one patch lies together, in rows of pixels.
            (square, square, self.channels),
        ):
            yield {name: random(self.count * side * side, *row), **sizes}

    def shaped(self) -> Iterator[Form]:
        """Patches of each image in one row, and their numbers in height and width."""
        yield {
            "pixel_values": self._rows,
            "spatial_shapes": torch.tensor([[self.side, self.side]] * self.count),
            "pixel_attention_mask": ones(self.count, self.side**2),
        }

    def placed(self) -> Iterator[Form]:
        """Patches of each image in one row, and the column and row of each."""
        places = self._places.flip(1).expand(self.count, -1, -1).contiguous()
        yield {"pixel_values": self._rows, str(self.signature.first_of(PLACES)): places}

    def strips(self) -> Iterator[Form]:
        """Patches side by side in one long picture, and the size of each image."""
        width = self.count * self.side**2 * self.patch
        shape = torch.tensor([[self.side, self.side]] * self.count)
        yield {
            "pixel_values": random(1, self.channels, self.patch, width),
            "target_sizes": shape,
        }

    def numbered(self) -> Iterator[Form]:
        """Patches of each image in one row, each after its row and column."""
        places = (self._places.float() + 1).expand(self.count, -1, -1)
        yield {"flattened_patches": torch.cat((places, self._rows), dim=-1)}

    def whole(self) -> Iterator[Form]:
        """Images, or videos of a few frames, with masks and sizes."""
        required = self.signature.required
        name = str(self.signature.first_of(PIXELS))
        for shape in dict.fromkeys(self._shapes(is_video=name == "pixel_values_videos")):
            pixels = random(self.count, *shape)
            more = self.signature.only_accepted(self._masks(pixels))
            yield {name: pixels, **{key: more[key] for key in more if key in required}}
            if not more.keys() <= required:
                yield {name: pixels, **more}

    def _shapes(self, *, is_video: bool) -> Iterator[tuple[int, ...]]:
        config, channels = self.signature.config, self.channels
        height, width = height_and_width(config, SIZES, IMAGE_PARTS, DEFAULT_SIDE)
        if "prompt_pixel_values" in self.signature.required:
            height //= 2  # an image lies below its prompt
        frames = self._number(
            "num_frames", "frames_per_clip", "num_image_with_embedding", default=2
        )
        several = ((1,), (frames,), (1, 1))
        for before in several[1:2] if is_video else ((), *several):
            if all(shape := (*before, channels, height, width)):
                yield shape
        if is_video:
            return
        patch = self.signature.number("patch_size")
        large = (4 * patch,) if patch > DEFAULT_SIDE else ()
        for side in (DEFAULT_SIDE, 640, WINDOWED * self.patch, *large):
            yield channels, side, side
        yield 1, DEFAULT_SIDE, DEFAULT_SIDE

    def _masks(self, pixels: Tensor) -> Form:
        """Return what a model may expect in addition to whole images."""
        count, height, width = self.count, *pixels.shape[-2:]
        patches = height // self.patch, width // self.patch
        tiles, required = pixels.shape[1:-3], self.signature.required
        made = {
            "image_attention_mask": self.signature.ones(count, TOKENS, *tiles[:1]),
            "image_sizes": torch.tensor([[height, width]] * count),
            "pixel_attention_mask": ones(count, *tiles[:1]),
        }
        if not required.isdisjoint(("bool_masked_pos", "context_mask")):
            frames = self._number("tubelet_size", default=1)
            times = pixels.shape[1] // frames if pixels.dim() == 5 else 1
            rows = times * patches[0] * patches[1]
            made["bool_masked_pos"] = torch.zeros((count, rows), dtype=torch.bool)
        if "prompt_pixel_values" in required:
            made |= {"prompt_pixel_values": pixels, "prompt_masks": pixels}
        return made

    @property
    def _rows(self) -> Tensor:
        return random(self.count, self.side**2, self.features)

    @property
    def _places(self) -> Tensor:
        return torch.cartesian_prod(torch.arange(self.side), torch.arange(self.side))

    def _number(self, *keys: str, default: int = 0) -> int:
        return self.signature.number(*keys, parts=IMAGE_PARTS, default=default)


_FORMS: Mapping[tuple[str, ...], Callable[[_Images], Iterator[Form]]] = {
    ("image_grid_thw", "grid_thw", "video_grid_thw"): _Images.listed,
    ("spatial_shapes",): _Images.shaped,
    PLACES: _Images.placed,
    ("target_sizes",): _Images.strips,
    ("flattened_patches",): _Images.numbered,
    PIXELS: _Images.whole,
}
"""Ways to give images, by the parameters that only such a model has."""
