"""What is found of a small variant of a model type: whether its formulas are proven and true."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bertviewer.core.building.backend import torch
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.expressions.evaluation import evaluate, names_in
from bertviewer.core.loading.deriving import builder
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.symbolic.costs import derive_costs
from bertviewer.core.symbolic.counts import derive
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import encode_floats
from tests.tools.fresh import try_costs, try_formulas


class Finding(Struct, frozen=True):
    """What became of one model type.

    Attributes:
        model_type: its name.
        error: why it does not open, empty if it does.
        exact: whether every module's count is that of an independent loop.
        modules: how many modules have parameters.
        proven: how many of these have a formula that is proven.
        formula: the whole model's, empty if it is not proven.
        causes: why formulas are missing.
        seconds: for opening and deriving.
        configurations: how many fresh ones its proven formulas were tried on, if they were.
        evaluations: how many formulas were evaluated on these, inside of their domains.
        outside: how many were not, as a configuration is outside of a domain.
        mistakes: those that were wrong, a line for each.
    """

    model_type: str
    error: str = ""
    exact: bool = False
    modules: int = 0
    proven: int = 0
    formula: str = ""
    causes: tuple[str, ...] = ()
    seconds: float = 0.0
    configurations: int = 0
    evaluations: int = 0
    outside: int = 0
    mistakes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it opens, counts exactly, and every module and the model have their formula."""
        return self.exact and self.proven == self.modules and bool(self.formula)


def examine(
    config: Mapping[str, Any], folder: Path, fresh: int = 0, draw: str = "", *, costs: bool = False
) -> Finding:
    """Open a configuration as the program does, count it again, and derive its formulas.

    Args:
        config: the configuration.
        folder: where its file may be written.
        fresh: on so many fresh configurations formulas are tried.
        draw: what these are drawn from, beside the model's type.
        costs: whether these are the formulas of multiply-adds, and not those of counts.
    """
    model_type = config["model_type"]
    start = time.perf_counter()
    path = folder / "config.json"
    path.write_text(json.dumps(encode_floats(config), default=str), encoding="utf-8")
    try:
        opened = open_model(parse_source(str(path)))
    except UserError as error:
        return Finding(model_type, " ".join(str(error).replace(str(path), "").split()))
    architecture, source = opened.architecture, opened.source
    if costs:
        return _examine_costs(opened, fresh, f"{model_type}{draw}")
    if not fresh:
        opened.with_formulas()  # whatever it raises is a finding
    found = derive(architecture.config, builder(source))
    seconds = time.perf_counter() - start
    counts = {node.path: node.parameters for node in architecture.modules}
    letters = {symbol.name: symbol.value for symbol in found.symbols}
    filled = [path for path, count in counts.items() if count]
    true = [path for path in filled if evaluate(found.counts[path], letters) == counts[path]]
    root = found.counts[""]
    tried = try_formulas(architecture.config, found, builder(source), f"{model_type}{draw}", fresh)
    return Finding(
        model_type,
        exact=counts == independent_counts(_built(architecture.config, source)) and true == filled,
        modules=len(filled),
        proven=sum(path not in found.unproven for path in filled),
        formula=root if "" not in found.unproven and names_in(root) else "",
        causes=tuple(dict.fromkeys(found.unproven[p] for p in filled if p in found.unproven)),
        seconds=seconds,
        configurations=tried.configurations,
        evaluations=tried.evaluations,
        outside=tried.outside,
        mistakes=tuple(map(str, tried.mistakes)),
    )


def _examine_costs(opened: LoadedModel, fresh: int, seed: str) -> Finding:
    """Derive the multiply-adds; modules are those that multiply, or have no formula."""
    config, build = opened.architecture.config, builder(opened.source)
    model_type = config["model_type"]
    start = time.perf_counter()
    costs = derive_costs(config, build)
    seconds = time.perf_counter() - start
    modules = [module for module in costs.modules.values() if module.macs != "0"]
    tried = try_costs(config, costs, build, seed, fresh)
    return Finding(
        model_type,
        exact=True,
        modules=len(modules),
        proven=sum(module.macs is not None for module in modules),
        formula=costs.modules[""].macs or "" if costs.modules else "",
        causes=tuple(dict.fromkeys(filter(None, (costs.reason, *(m.reason for m in modules))))),
        seconds=seconds,
        configurations=tried.configurations,
        evaluations=tried.evaluations,
        outside=tried.outside,
        mistakes=tuple(map(str, tried.mistakes)),
    )


def independent_counts(model: torch.nn.Module) -> dict[str, int]:
    """Count every module's parameters, a shared one at the first name it has in the model."""
    counts = {path: 0 for path, _ in model.named_modules()}
    for name, parameter in model.named_parameters():
        size = 1
        for length in parameter.shape:
            size *= length
        for path in counts:
            if not path or name.startswith(f"{path}."):
                counts[path] += size
    return counts


def _built(values: Mapping[str, Any], source: ModelSource) -> torch.nn.Module:
    return build_on_meta(build_config(values, source.name), source.task, source.name)
