"""A model's outline: the numbers that ``charts.stack_picture`` draws."""

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bertviewer.core.util.files import resources_folder
from bertviewer.core.util.serialization import Document


class StackOutline(Struct, frozen=True):
    """A stack of equal layers.

    Attributes:
        layers: their number, or how often the shared one is called.
        stored: the number of those with parameters of their own.
        attention: parameters of the first layer's attention, including projections.
        feed_forward: the first layer's other parameters.
    """

    layers: int
    stored: int
    attention: int
    feed_forward: int


class Outline(Document, frozen=True):
    """A model's size and the distribution of its parameters.

    Attributes:
        class_name: the model's class.
        parameters: all of them.
        before: those before the layers: embeddings.
        after: those after the layers: poolers, heads.
        width: the hidden size between layers.
        heads: of each attention.
        stacks: one, or those of encoder and decoder.
    """

    class_name: str
    parameters: int
    before: int
    after: int
    width: int
    heads: int
    stacks: tuple[StackOutline, ...]


def outlines_file() -> Path:
    """Return the file of bundled outlines, which ``python -m tests.seen`` writes."""
    return resources_folder() / "seen" / "outlines.json"


def bundled_outlines() -> Mapping[str, Outline]:
    """Return the outlines of the presets and the demo, by name."""
    content = json.loads(outlines_file().read_text(encoding="utf-8"))
    return {name: Outline.from_json(data) for name, data in content.items()}
