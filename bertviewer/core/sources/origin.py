"""Where a model's weights come from: the digests of their files, their licence."""

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file, sha256_of
from bertviewer.core.util.progress import Progress, no_progress

MOST_READ = 1 << 20
"""Bytes of a model card that are looked at."""

DEMO_LICENCE = "Apache 2.0 (authors); the package that distributes it says MIT"

_LICENCE = re.compile(r"^license:\s*[\"']?([\w.+-]{1,60})[\"']?\s*$", re.MULTILINE)


class Origin(Struct, frozen=True):
    """Where weights come from.

    Attributes:
        digests: the SHA-256 of each file, by its name.
        licence: what the model's card or licence names, empty where nothing does.
    """

    digests: tuple[tuple[str, str], ...] = ()
    licence: str = ""


def origin_of(
    source: ModelSource, files: Iterable[Path], progress: Progress = no_progress
) -> Origin:
    """Read the weights' files once more, and what lies beside them.

    Raises:
        UserError: a file cannot be read.
        Cancelled: by ``progress``.
    """
    digests = tuple((file.name, sha256_of(file, progress)) for file in files)
    return Origin(digests, DEMO_LICENCE if source.kind == "demo" else _licence(source.folder))


def _licence(folder: Path) -> str:
    """Return what the front matter of the model's card says, or the first line of its licence."""
    card = _read(folder / "README.md")
    if card.startswith("---"):
        front = card.partition("---")[2].partition("\n---")[0]
        if found := _LICENCE.search(front):
            return found[1]
    for name in ("LICENSE", "LICENSE.txt", "LICENSE.md"):
        lines = (line.strip(" #\t") for line in _read(folder / name).splitlines())
        if first := next(filter(None, lines), ""):
            return first[:80]
    return ""


def _read(file: Path) -> str:
    """Return a text that may be there; one that cannot be read names no licence."""
    try:
        return read_small_file(file, MOST_READ, "a licence").decode("utf-8", "replace")
    except UserError:
        return ""
