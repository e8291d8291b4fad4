"""The small picture of a model as a stack of blocks."""

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from bertviewer.charts.stack_picture import MIN_WIDTH, stack_blocks
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.core.schema.outline import Outline, StackOutline, bundled_outlines
from bertviewer.plots.stack_picture import paint_stack
from tests.plots.looking import sheet

WIDTH, HEIGHT = 170.0, 44.0


@pytest.mark.usefixtures("qapp")
def test_pictures(image: Callable[[str, Any], None]) -> None:
    def painted(name: str) -> QImage:
        theme = DARK if name == "gpt2" else LIGHT
        picture = QImage(int(WIDTH) + 10, int(HEIGHT) + 10, QImage.Format.Format_RGB32)
        picture.fill(theme.surface)
        painter = QPainter(picture)
        paint_stack(bundled_outlines()[name], painter, QRectF(5, 5, WIDTH, HEIGHT), theme)
        painter.end()
        return picture

    # A layer that is called again is hollow; encoder and decoder are two rows.
    names = ("bert-base-uncased", "gpt2", "albert-base-v2", "transformer-base")
    image("stacks", sheet(*map(painted, names)))


@pytest.mark.parametrize("name", list(bundled_outlines()))
def test_areas_are_parameters_inside_of_the_picture(name: str) -> None:
    outline = bundled_outlines()[name]
    blocks = stack_blocks(outline, WIDTH, HEIGHT)
    for block in blocks:
        assert block.width > 0
        assert block.height > 0
        assert block.x >= 0
        assert block.y >= 0
        # The narrowest may be wider than its share.
        assert block.x + block.width <= WIDTH + MIN_WIDTH
        assert block.y + block.height <= HEIGHT
    area = {(b.part, b.y): b.width * b.height for b in blocks if not b.is_hollow}
    of_attention = [size for (part, _), size in area.items() if part == "attention"]
    (embeddings,) = (size for (part, _), size in area.items() if part == "embeddings")
    rows = len(outline.stacks)
    for size, stack in zip(of_attention, outline.stacks, strict=True):
        # Two rows have a gap between them.
        tolerance = 0.01 if rows == 1 else 0.1
        assert size / embeddings == pytest.approx(stack.attention / outline.before, rel=tolerance)


def test_hundreds_of_layers_have_a_block_each() -> None:
    outline = Outline("Deep", 10**9, 0, 0, 64, 1, (StackOutline(300, 300, 2, 1),))
    blocks = stack_blocks(outline, WIDTH, HEIGHT)
    assert len(blocks) == 600
    assert all(block.width >= 0 for block in blocks)
