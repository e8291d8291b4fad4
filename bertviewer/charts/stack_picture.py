"""A small picture of a model: blocks whose areas are parameters, in the order of execution."""

from collections.abc import Iterator

from msgspec import Struct

from bertviewer.charts.theme import Part
from bertviewer.core.schema.outline import Outline, StackOutline

GAP = 2.0
MIN_WIDTH = 2.0
"""Pixels between blocks, and of the narrowest one."""

WIDEST = 1024
"""The width of a model whose picture is as high as there is room; others are lower."""


class Block(Struct, frozen=True):
    """A rectangle of the picture; ``is_hollow``: it shares its parameters with one before."""

    part: Part
    x: float
    y: float
    width: float
    height: float
    is_hollow: bool = False


def stack_blocks(outline: Outline, width: float, height: float) -> tuple[Block, ...]:
    """Return the blocks of a model in a picture of that size.

    Embeddings stand on the left, poolers and heads on the right. A layer has its attention above
    and its feed-forward network below. Encoder and decoder are two rows.
    """
    rows = outline.stacks
    most = max(stack.layers for stack in rows)
    ends = sum(GAP for part in (outline.before, outline.after) if part)
    room = width - ends - GAP * (most - 1)
    # A row has its part of the height: a parameter is so many times as wide there.
    wide = len(rows) * max(stack.layers * _size(stack) for stack in rows)
    pixel = max(0.0, room) / max(1, outline.before + outline.after + wide)
    high = height * min(1.0, outline.width / WIDEST)
    top = (height - high) / 2
    blocks: list[Block] = []
    left = 0.0
    if outline.before:
        blocks.append(Block("embeddings", 0, top, max(MIN_WIDTH, pixel * outline.before), high))
        left = blocks[0].width + GAP
    row_high = (high - GAP * (len(rows) - 1)) / len(rows)
    right = left
    for number, stack in enumerate(rows):
        row = list(_row(stack, left, top + number * (row_high + GAP), row_high, pixel * len(rows)))
        blocks += row
        right = max(right, row[-1].x + row[-1].width + GAP)
    if outline.after:
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
