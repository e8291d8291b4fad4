"""The outlines of the demo and of the presets, which come with the program in one small file."""

import json
from collections.abc import Mapping
from pathlib import Path

from bertviewer.core.schema.outline import Outline
from bertviewer.core.util.files import resources_folder


def outlines_file() -> Path:
    """Return where they lie; ``python -m tests.seen`` writes it."""
    return resources_folder() / "seen" / "outlines.json"


def shipped_outlines() -> Mapping[str, Outline]:
    """Return the outlines by the names of the models."""
    content = json.loads(outlines_file().read_text(encoding="utf-8"))
    return {name: Outline.from_json(data) for name, data in content.items()}
