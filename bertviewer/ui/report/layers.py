"""The layers whose heads a report shows, as a person writes them down: "0, 5", "2-4", "all"."""

import re

from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.errors import UserError
from bertviewer.ui.report.material import Material

ENDS, ALL = "first and last", "all"
"""Words for the first and the last layer, which are shown where nothing is written, and for all."""
_RANGE = re.compile(r"(\d{1,6})\s*(?:[-–]\s*(\d{1,6}))?")


def read_layers(text: str, count: int) -> tuple[int, ...] | None:
    """Return the layers that are meant, of ``count``; ``None`` for the first and the last.

    Raises:
        UserError: a part of it is no layer of this model.
    """
    words = text.strip().casefold()
    if words in ("", ENDS):
        return None
    if words == ALL:
        return tuple(range(count))
    layers: set[int] = set()
    for part in re.split(r"[,;]", words):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise UserError(f"write numbers of layers, as 0, 5 or 2-4, or {ALL}")
        first, last = int(found[1]), int(found[2] or found[1])
        if not first <= last < count:
            has = f"layers 0 to {count - 1}" if count > 1 else "layer 0 alone"
            raise UserError(f"this model has {has}")
        layers.update(range(first, last + 1))
    return tuple(sorted(layers))


def meant_layers(text: str, count: int) -> tuple[int, ...] | None:
    """Return the layers that are meant; ``None`` as well where some of them are none."""
    try:
        return read_layers(text, count)
    except UserError:
        return None


def layer_count(material: Material) -> int:
    """Return how many layers have heads that can be shown."""
    run = material.run
    if run is None or material.is_from_file:
        return 0
    layers = attention_layers(material.architecture, run)
    return 1 + max((layer.number for layer in layers if layer.number is not None), default=-1)
