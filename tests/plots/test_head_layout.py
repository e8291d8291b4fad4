"""Where heads and the words above them stand."""

import pytest

from bertviewer.plots.head_layout import HeadLayout, Words, lay_out_heads

WORDS = Words(name_width=50, name_height=15, caption_width=64, caption_height=13)


def laid_out(width: float, height: float, words: Words = WORDS) -> HeadLayout:
    return lay_out_heads((12, 10, 10), width, height, words)


def test_captions_beside_names() -> None:
    layout = laid_out(900, 600)
    assert layout.captions == "beside"
    assert layout.has_names
    assert layout.rects[0].width() >= WORDS.name_width + WORDS.caption_width


def test_captions_below_names() -> None:
    layout = laid_out(500, 240)
    assert layout.captions == "below"
    assert layout.rects[0].width() >= WORDS.caption_width
    assert layout.title_height >= WORDS.name_height + WORDS.caption_height
    assert layout.rects[0].top() >= layout.title_height


def test_heatmaps_come_before_captions() -> None:
    layout = laid_out(300, 200)
    assert layout.captions == ""
    plain = laid_out(300, 200, Words(50, 15, 0, 13))
    assert layout.rects == plain.rects


def test_numbers_where_names_have_no_room() -> None:
    assert not laid_out(120, 100).has_names
    assert laid_out(500, 300).has_names


@pytest.mark.parametrize("heads", [1, 2, 4, 6, 8, 12, 16])
@pytest.mark.parametrize("size", [(540, 300), (320, 190), (200, 500)])
def test_heads_reach_both_ends_of_a_pane_one_way(size: tuple[int, int], heads: int) -> None:
    bounds = lay_out_heads((heads, 10, 10), *size, WORDS).bounds
    ends = bounds.right(), bounds.bottom()
    assert max(end - whole for end, whole in zip(ends, size, strict=True)) == pytest.approx(-6)


@pytest.mark.parametrize("size", [(900, 200), (300, 300), (200, 900)])
@pytest.mark.parametrize("shape", [(1, 10, 10), (4, 10, 10), (12, 5, 20), (12, 20, 5)])
def test_cells_are_squares(shape: tuple[int, int, int], size: tuple[int, int]) -> None:
    _, rows, columns = shape
    rect = lay_out_heads(shape, *size, WORDS).rects[0]
    cell = (rect.width() / columns) / (rect.height() / rows)
    assert cell == pytest.approx(1)
