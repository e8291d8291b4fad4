"""Derived formulas on disk: the second time a model is opened they are there at once.

They are found by a hash of the configuration. A cached formula is not trusted either: it has to
give the model's real counts and shapes again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from bertviewer import __version__
from bertviewer.core.architecture import Architecture
from bertviewer.core.costs.compute import Compute
from bertviewer.core.errors import UserError
from bertviewer.core.evaluation import evaluate
from bertviewer.core.files import write_atomically
from bertviewer.core.log import write_log
from bertviewer.core.symbols import Symbol

FORMAT = 3
"""To be raised whenever what is derived changes, within one version of the program too."""

KEPT = 100
"""So many models' formulas are kept; one is 100 to 300 kB."""


def cache_key(architecture: Architecture) -> str:
    """Return the hash of all that the formulas follow from: 64 hexadecimal digits."""
    ground = {
        "format": FORMAT,
        "versions": [__version__, version("torch"), version("transformers")],
        "class": architecture.root.class_name,
        "task": architecture.source.task,
        "config": architecture.config,
    }
    return hashlib.sha256(json.dumps(ground, sort_keys=True).encode()).hexdigest()


def cached_formulas(architecture: Architecture) -> Architecture | None:
    """Return the architecture with formulas that were derived before, ``None`` if there are none.

    A file that is damaged, or whose formulas do not give this model's figures, counts for nothing
    and is removed.
    """
    path = _path(architecture)
    try:
        found = _with(architecture, json.loads(path.read_bytes()))
        _prove(found)
    except FileNotFoundError:
        return None
    # What a damaged file may do to the reading of it.
    except (OSError, RecursionError, LookupError, TypeError, ValueError, AttributeError) as error:
        _remove(path, error)
        return None
    return found


def keep_formulas(architecture: Architecture) -> None:
    """Write an architecture's formulas for the next time; a full disk is noted in the log."""
    path = _path(architecture)
    data = {
        "symbols": [asdict(symbol) for symbol in architecture.symbols],
        "counts": {node.path: node.count_formula for node in architecture.modules},
        "shapes": {tensor.name: tensor.symbolic_shape for tensor in architecture.parameters},
        "compute": architecture.compute and architecture.compute.to_json(),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(data, separators=(",", ":")).encode())
        for old in sorted(path.parent.glob("*.json"), key=_age)[KEPT:]:
            old.unlink(missing_ok=True)
    except (OSError, UserError) as error:
        write_log(f"formulas were not kept: {error}")


def _path(architecture: Architecture) -> Path:
    folder = user_cache_path("bertviewer", appauthor=False) / "formulas"
    return folder / f"{cache_key(architecture)}.json"


def _age(path: Path) -> float:
    return -path.stat().st_mtime


def _with(architecture: Architecture, data: Mapping[str, Any]) -> Architecture:
    counts, shapes = data["counts"], data["shapes"]
    return replace(
        architecture,
        symbols=tuple(Symbol(**entry) for entry in data["symbols"]),
        modules=tuple(
            replace(node, count_formula=counts[node.path]) for node in architecture.modules
        ),
        parameters=tuple(
            replace(tensor, symbolic_shape=tuple(map(str, shapes[tensor.name])))
            for tensor in architecture.parameters
        ),
        compute=Compute.from_json(data["compute"]) if data["compute"] else None,
    )


def _prove(architecture: Architecture) -> None:
    """Raise ``ValueError`` unless counts and shapes are the real model's, and costs are numbers."""
    values = {symbol.letter: symbol.value for symbol in architecture.symbols}
    for node in architecture.modules:
        if evaluate(node.count_formula, values) != node.parameters:
            raise ValueError(f"the count of {node.path!r} is not {node.count_formula}")
    for tensor in architecture.parameters:
        shape = tuple(evaluate(size, values) for size in tensor.symbolic_shape or ())
        if shape != tensor.shape:
            raise ValueError(f"the shape of {tensor.name} is not {tensor.symbolic_shape}")
    if (compute := architecture.compute) is not None:
        values |= {symbol.letter: symbol.value for symbol in compute.symbols}
        for module in compute.modules.values():
            for formula in (module.macs, *(module.input_shape or ()), *(module.output_shape or ())):
                if formula is not None:
                    evaluate(formula, values)
        for formula in compute.peak:
            evaluate(formula, values)


def _remove(path: Path, error: Exception) -> None:
    write_log(f"cached formulas are not used: {path}: {error!r}")
    try:
        path.unlink(missing_ok=True)
    except OSError as stuck:
        write_log(f"cannot remove {path}: {stuck}")
