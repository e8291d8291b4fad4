"""Base of what is found out about a model type."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.serialization import encode_floats


class Finding(Struct, frozen=True):
    """What is found out about a model type.

    Attributes:
        model_type: its name.
        error: why it could not be examined, empty if it could.
    """

    model_type: str
    error: str = ""

    @property
    def row(self) -> str:
        """The finding as text, in one line or a few."""
        raise NotImplementedError

    @property
    def has_faults(self) -> bool:
        """Whether something is wrong with the program."""
        raise NotImplementedError


def open_configuration(config: Mapping[str, Any], folder: Path) -> LoadedModel:
    """Open a configuration as the program does, from a file that is written to a folder.

    Raises:
        UserError: it cannot be opened.
    """
    path = folder / "config.json"
    path.write_text(json.dumps(encode_floats(config), default=str), encoding="utf-8")
    return open_model(parse_source(str(path)))


def share(part: int, whole: int) -> str:
    """Return a share in percent, in parentheses."""
    return f" ({part / whole:.1%})" if whole else ""
