"""Thumbnail of a model: blocks with areas proportional to parameter counts."""

from collections.abc import Iterator

from msgspec import Struct

from bertviewer.charts.theme import Part
from bertviewer.core.schema.outline import Outline, StackOutline

GAP = 2.0
MIN_WIDTH = 2.0
"""Gap between blocks, and width of the narrowest one, in pixels."""

_MAX_WIDTH = 1024
"""Hidden size at which a model is as high as the image."""


class Block(Struct, frozen=True):
    """A rectangle; ``is_hollow``: it shares its parameters with a previous one."""

    part: Part
    x: float
    y: float
    width: float
    height: float
    is_hollow: bool = False


def stack_blocks(outline: Outline, width: float, height: float) -> tuple[Block, ...]:
    """Return the blocks of a model in an image of that size.

    Embeddings are at the left, heads at the right. A layer has its attention above its feed-forward
    network. Encoder and decoder are two rows.
    """
    rows = outline.stacks
    layers = max(stack.layers for stack in rows)
    gaps = GAP * (layers - 1 + bool(outline.before) + bool(outline.after))
    # A row has a part of the height, and therefore needs a multiple of the width.
    wide = len(rows) * max(stack.layers * _size(stack) for stack in rows)
    pixel = max(0.0, width - gaps) / max(1, outline.before + outline.after + wide)
    high = height * min(1.0, outline.width / _MAX_WIDTH)
    top, row_high = (height - high) / 2, (high - GAP * (len(rows) - 1)) / len(rows)
    blocks: list[Block] = []
    left = 0.0
    if outline.before:
        blocks.append(Block("embeddings", 0, top, max(MIN_WIDTH, pixel * outline.before), high))
        left = blocks[0].width + GAP
    for number, stack in enumerate(rows):
        blocks += _row(stack, left, top + number * (row_high + GAP), row_high, pixel * len(rows))
    if outline.after:
        right = max((each.x + each.width + GAP for each in blocks), default=left)
        blocks.append(Block("head", right, top, max(MIN_WIDTH, pixel * outline.after), high))
    return tuple(blocks)


def _size(stack: StackOutline) -> int:
    return stack.attention + stack.feed_forward


def _row(
    stack: StackOutline, left: float, top: float, height: float, pixel: float
) -> Iterator[Block]:
    width = pixel * _size(stack)
    above = height * stack.attention / max(1, _size(stack))
    for number in range(stack.layers):
        x, is_hollow = left + number * (width + GAP), number >= stack.stored
        yield Block("attention", x, top, width, above, is_hollow)
        yield Block("feed-forward", x, top + above, width, height - above, is_hollow)
