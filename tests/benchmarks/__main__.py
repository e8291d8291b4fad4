"""``python -m tests.benchmarks NAME``: times what has to be fast, as ratios within one process."""

import argparse
import json
import platform
import sys
from collections.abc import Callable, Mapping

from tests.benchmarks.derive import derive_all
from tests.benchmarks.what_if import what_if

BENCHMARKS: Mapping[str, Callable[[], dict[str, float]]] = {
    "derive": derive_all,
    "what_if": what_if,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one benchmark and print its medians; a ratio is that of the others, without a unit."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    figures = BENCHMARKS[options.name]()
    if options.json:
        print(json.dumps({"figures": figures, "machine": platform.processor()}))
        return 0
    width = max(map(len, figures))
    for name, value in figures.items():
        text = f"{value:10.3f}" if name.endswith("ratio") else f"{value * 1000:10.1f} ms"
        print(f"{name:{width}}  {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
