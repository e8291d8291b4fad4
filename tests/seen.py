"""``python -m tests.seen``: derives anew what comes with the program of presets and the demo.

To be run after a change of what is derived, and for every new version of torch or transformers
that ``packaging/constraints.txt`` names.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from bertviewer.core import libraries
from bertviewer.core.cache.models import (
    SeenModel,
    keys_content,
    keys_key,
    model_content,
    model_key,
    shipped,
    shipped_name,
)
from bertviewer.core.configuration import read_configuration
from bertviewer.core.deriving import with_costs, with_counts
from bertviewer.core.meta_model import read_meta_model
from bertviewer.core.presets import preset_names
from bertviewer.core.progress import no_progress
from bertviewer.core.source import ModelSource, parse_source
from bertviewer.core.weights.finding import find_checkpoint

KINDS = ("architectures", "key-reports")


def sources() -> Iterator[ModelSource]:
    """Yield every preset and the demo, under every head that its family has."""
    libraries.load()
    for name in (*preset_names(), "demo"):
        base = parse_source(name)
        for head in read_meta_model(base, _data(base), None, no_progress).heads:
            yield parse_source(name, head)


def made(source: ModelSource) -> Mapping[str, tuple[str, Any]]:
    """Return the key and the content of each file of a source, derived anew."""
    data = _data(source)
    checkpoint = None if source.kind == "preset" else find_checkpoint(source.path)
    found = read_meta_model(source, data, checkpoint, no_progress)
    counted = with_counts(found.architecture, source, no_progress)
    seen = SeenModel(with_costs(counted, source, no_progress), found.heads)
    files = {"architectures": (model_key(source, data), model_content(seen))}
    if checkpoint is not None and found.keys is not None:
        files["key-reports"] = keys_key(source, data, checkpoint), keys_content(found.keys)
    return files


def _data(source: ModelSource) -> dict[str, Any]:
    file = source.config_file
    assert file is not None
    return read_configuration(file)


def main() -> int:
    """Write all of them."""
    for kind in KINDS:
        shutil.rmtree(shipped(kind).folder, ignore_errors=True)
    for source in sources():
        for kind, (key, content) in made(source).items():
            shipped(kind).write(shipped_name(source), key, content)
        sys.stdout.write(f"{shipped_name(source)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
