"""Shapes as text."""

from bertviewer.core.expressions.shape_text import shape_text


def test_shapes_in_numbers_and_letters() -> None:
    assert shape_text(None) == ""
    assert shape_text(()) == "[]"
    assert shape_text((30522, 768)) == "[30522, 768]"
    assert shape_text(("V", "D")) == "[V, D]"
