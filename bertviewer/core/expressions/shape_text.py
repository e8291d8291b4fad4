"""Shapes as they are written, on screen, on paper and in formulas."""

from collections.abc import Sequence


def shape_text(shape: Sequence[int | str] | None) -> str:
    """Return ``[30522, 768]`` or ``[V, D]``, as torch writes shapes; nothing for no shape."""
    return "" if shape is None else f"[{', '.join(map(str, shape))}]"
