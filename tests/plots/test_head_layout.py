"""Where heads and the words above them stand."""

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
    layout = laid_out(490, 290)
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
