"""``python -m tests.benchmarks NAME``: times what has to be fast, as ratios within one process."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping

import torch

from tests.benchmarks.corpus import corpus
from tests.benchmarks.derive import derive_all
from tests.benchmarks.dialog import dialog
from tests.benchmarks.flow import flow
from tests.benchmarks.layers import layers
from tests.benchmarks.map import map_
from tests.benchmarks.offload import offload
from tests.benchmarks.report import report
from tests.benchmarks.run import run_ratios
from tests.benchmarks.start import start
from tests.benchmarks.tensors import tensors
from tests.benchmarks.what_if import what_if
from tests.benchmarks.window import window

BENCHMARKS: Mapping[str, Callable[[], dict[str, float]]] = {
    "corpus": corpus,
    "derive": derive_all,
    "dialog": dialog,
    "flow": flow,
    "layers": layers,
    "map": map_,
    "offload": offload,
    "report": report,
    "run": run_ratios,
    "start": start,
    "tensors": tensors,
    "what_if": what_if,
    "window": window,
}


RATIOS = frozenset({"run"})
"""Benchmarks all of whose figures are ratios."""


def main(arguments: list[str] | None = None) -> int:
    """Run one benchmark and print its medians; ratios have no unit."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    figures = BENCHMARKS[options.name]()
    has_ratios = options.name in RATIOS
    if options.json:
        key = "ratios" if has_ratios else "figures"
        print(json.dumps({key: figures, "machine": _machine()}))
        return 0
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:{width}}  {_text(name, value, has_ratios)}")
    return 0


def _text(name: str, value: float, is_ratio: bool) -> str:
    if is_ratio or "ratio" in name:
        return f"{value:10.3f}"
    if name.startswith("per second"):
        return f"{value:10.1f}"
    if name.endswith("MB"):
        return f"{value:10.2f}"
    if name.startswith("memory"):
        return f"{value:10.1f} MB"
    return f"{value * 1000:10.1f} ms"


def _machine() -> str:
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"torch {torch.__version__}"
    )


if __name__ == "__main__":
    sys.exit(main())
