"""Layout of the heatmaps of heads, and of the names above them."""

import pytest

from bertviewer.plots.head_grid import HeadLayout, Words, lay_out_heads

WORDS = Words(name_width=50, name_height=15, caption_width=64, caption_height=13)


def laid_out(width: float, height: float, words: Words = WORDS) -> HeadLayout:
    return lay_out_heads((12, 10, 10), width, height, words)


def test_captions_are_beside_names_or_below_them_or_nowhere() -> None:
    wide, low, small = laid_out(900, 600), laid_out(500, 240), laid_out(300, 200)
    assert (wide.captions, low.captions, small.captions) == ("beside", "below", "")
    assert wide.has_names
    assert wide.rects[0].width() >= WORDS.name_width + WORDS.caption_width
    assert low.rects[0].width() >= WORDS.caption_width
    assert low.rects[0].top() >= low.title_height >= WORDS.name_height + WORDS.caption_height
    # Heatmaps are not made smaller for captions.
    assert small.rects == laid_out(300, 200, Words(50, 15, 0, 13)).rects
    assert not laid_out(120, 100).has_names


@pytest.mark.parametrize("heads", [1, 2, 4, 6, 8, 12, 16])
@pytest.mark.parametrize("size", [(540, 300), (320, 190), (200, 500)])
def test_heads_extend_to_both_ends_of_a_pane_one_way(size: tuple[int, int], heads: int) -> None:
    bounds = lay_out_heads((heads, 10, 10), *size, WORDS).bounds
    ends = bounds.right(), bounds.bottom()
    assert max(end - whole for end, whole in zip(ends, size, strict=True)) == pytest.approx(-6)


@pytest.mark.parametrize("size", [(900, 200), (300, 300), (200, 900)])
@pytest.mark.parametrize("shape", [(1, 10, 10), (4, 10, 10), (12, 5, 20), (12, 20, 5)])
def test_cells_are_squares(shape: tuple[int, int, int], size: tuple[int, int]) -> None:
    _, rows, columns = shape
    rect = lay_out_heads(shape, *size, WORDS).rects[0]
    assert (rect.width() / columns) / (rect.height() / rows) == pytest.approx(1)
