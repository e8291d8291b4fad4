"""The small picture of a model: areas are parameters, and nothing leaves the picture."""

import pytest

from bertviewer.charts.stack_picture import MIN_WIDTH, stack_blocks
from bertviewer.core.schema.outline import Outline, StackOutline, bundled_outlines

WIDTH, HEIGHT = 170.0, 44.0


@pytest.mark.parametrize("name", list(bundled_outlines()))
def test_blocks_stay_in_the_picture(name: str) -> None:
    blocks = stack_blocks(bundled_outlines()[name], WIDTH, HEIGHT)
    for block in blocks:
        assert block.width > 0
        assert block.height > 0
        assert block.x >= 0
        assert block.y >= 0
        # The narrowest may be wider than its share.
        assert block.x + block.width <= WIDTH + MIN_WIDTH
        assert block.y + block.height <= HEIGHT


@pytest.mark.parametrize("name", list(bundled_outlines()))
def test_areas_are_parameters(name: str) -> None:
    outline = bundled_outlines()[name]
    blocks = stack_blocks(outline, WIDTH, HEIGHT)
    area = {(b.part, b.y): b.width * b.height for b in blocks if not b.is_hollow}
    of_attention = [size for (part, _), size in area.items() if part == "attention"]
    (embeddings,) = (size for (part, _), size in area.items() if part == "embeddings")
    rows = len(outline.stacks)
    for size, stack in zip(of_attention, outline.stacks, strict=True):
        wanted = stack.attention / outline.before
        # Two rows have a gap between them.
        assert size / embeddings == pytest.approx(wanted, rel=0.01 if rows == 1 else 0.1)


def test_a_layer_that_is_called_again_is_hollow() -> None:
    blocks = stack_blocks(bundled_outlines()["albert-base-v2"], WIDTH, HEIGHT)
    attention = [block.is_hollow for block in blocks if block.part == "attention"]
    assert attention == [False, *[True] * 11]


def test_hundreds_of_layers_have_blocks_that_are_there() -> None:
    outline = Outline("Deep", 10**9, 0, 0, 64, 1, (StackOutline(300, 300, 2, 1),))
    blocks = stack_blocks(outline, WIDTH, HEIGHT)
    assert len(blocks) == 600
    assert all(block.width >= 0 for block in blocks)
