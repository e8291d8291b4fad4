"""``python -m tests.seen``: derives anew what comes with the program of presets and the demo.

To be run after a change of what is derived, and for every new version of torch or transformers
that ``packaging/constraints.txt`` names. With ``--check`` nothing is written, and the exit status
says whether all of it is as it would be.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from bertviewer.core.analysis.costs import outline_of
from bertviewer.core.checkpoints.finding import find_checkpoint
from bertviewer.core.loading.cached_models import (
    ModelSpec,
    bundled,
    bundled_name,
    report_key,
    spec_content,
    spec_key,
)
from bertviewer.core.loading.deriving import with_costs, with_counts, with_flows
from bertviewer.core.loading.meta_model import read_meta_model
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.outline import Outline, bundled_outlines, outlines_file
from bertviewer.core.sources.configuration import read_configuration
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names
from bertviewer.core.util import libraries
from bertviewer.core.util.progress import no_progress
from bertviewer.core.util.serialization import struct_to_json

KINDS = ("architectures", "key-reports")


def sources() -> Iterator[ModelSource]:
    """Yield every preset and the demo, under every head that its family has."""
    libraries.load()
    for name in (*preset_names(), "demo"):
        base = parse_source(name)
        for head in read_meta_model(base, _data(base), None, None, no_progress).tasks:
            yield parse_source(name, head)


def made(source: ModelSource) -> Mapping[str, tuple[str, Any]]:
    """Return the key and the content of each file of a source, derived anew."""
    data = _data(source)
    checkpoint = None if source.kind == "preset" else find_checkpoint(source.path)
    found = read_meta_model(source, data, checkpoint, None, no_progress)
    counted = with_counts(found.architecture, source, no_progress)
    costed = with_costs(counted, source, no_progress)
    seen = ModelSpec(source, with_flows(costed, source, no_progress), found.tasks)
    files = {"architectures": (spec_key(source, data), spec_content(seen))}
    if checkpoint is not None and found.load_report is not None:
        key = report_key(source, data, checkpoint)
        files["key-reports"] = key, struct_to_json(found.load_report)
    return files


def outlines() -> dict[str, Outline]:
    """Return the outlines of what has just been written."""
    names = ("demo", *preset_names())
    found = {name: outline_of(open_model(parse_source(name)).architecture) for name in names}
    return {name: outline for name, outline in found.items() if outline is not None}


def _data(source: ModelSource) -> dict[str, Any]:
    file = source.config_file
    assert file is not None
    return read_configuration(file)


def main(arguments: list[str] | None = None) -> int:
    """Write all of them, or check them."""
    parser = argparse.ArgumentParser(prog="python -m tests.seen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    is_check = parser.parse_args(arguments).check
    if not is_check:
        for kind in KINDS:
            shutil.rmtree(bundled(kind).folder, ignore_errors=True)
    wrong = 0
    for source in sources():
        name = bundled_name(source)
        for kind, (key, content) in made(source).items():
            store = bundled(kind)
            if not is_check:
                store.write(name, key, content)
            elif store.read(name, key) != json.loads(json.dumps(content)):
                wrong += 1
                sys.stdout.write(f"{kind}/{name}: not as it would be\n")
        sys.stdout.write(f"{name}\n")
    if not is_check:
        content = {name: outline.to_json() for name, outline in outlines().items()}
        outlines_file().write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    elif bundled_outlines() != outlines():
        wrong += 1
        sys.stdout.write(f"{outlines_file().name}: not as it would be\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
