"""Whether the formulas of a model type are proven, and true."""

import time
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.expressions.evaluation import evaluate, names_in
from bertviewer.core.loading.deriving import builder
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.symbolic.costs import derive_costs
from bertviewer.core.symbolic.counts import derive
from tests.families.finding import Finding, open_configuration, share
from tests.tools.fresh import parameter_counts, try_costs, try_formulas
from tests.tools.small_models import small_configuration


class CountFinding(Finding, frozen=True):
    """Formulas of one model type.

    Attributes:
        exact: whether every module's count is that of an independent loop.
        modules: how many modules have parameters, or multiply-adds.
        proven: how many of these have a proven formula.
        formula: the whole model's, empty if it is not proven.
        causes: why formulas are missing.
        seconds: for opening and deriving.
        configurations: how many new ones the formulas were evaluated on.
        evaluations: how many formulas were evaluated on these, within their domains.
        outside: how many were not, because a configuration is outside of the domain.
        mistakes: wrong results, a line for each.
    """

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
        """Whether counts are exact, and every module and the model have their formula."""
        return self.exact and self.proven == self.modules and bool(self.formula)

    @property
    @override
    def row(self) -> str:
        if self.error:
            return f"{self.model_type:32} does not open: {self.error[:160]}"
        mark = "whole" if self.is_whole else "PARTS" if self.exact else "WRONG"
        proven = f"{self.proven}/{self.modules}"
        about = f"{self.model_type:32} {mark} {proven:>11} {self.seconds:6.1f} s"
        if self.configurations:
            about += f" {self.evaluations:6} tried, {len(self.mistakes)} wrong"
        return f"{about}  {self.formula[:90]}"

    @property
    @override
    def has_faults(self) -> bool:
        return bool(self.mistakes) or not (self.exact or self.error)


def examine(
    model_type: str, folder: Path, fresh: int = 0, draw: str = "", *, costs: bool = False
) -> CountFinding:
    """Open a small model of a type, count its parameters again, and derive its formulas.

    Args:
        model_type: its name.
        folder: where its configuration may be written.
        fresh: how many new configurations proven formulas are evaluated on.
        draw: seed of these, together with the type's name.
        costs: whether formulas of multiply-adds are derived instead.

    Raises:
        Exception: whatever transformers raises for its own default configuration.
    """
    start = time.perf_counter()
    opened = open_configuration(small_configuration(model_type), folder)
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
    config = build_config(architecture.config, source.name)
    built = build_on_meta(config, source.task, source.name)
    tried = try_formulas(architecture.config, found, builder(source), f"{model_type}{draw}", fresh)
    return CountFinding(
        model_type,
        exact=counts == parameter_counts(built) and true == filled,
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


def _examine_costs(opened: LoadedModel, fresh: int, seed: str) -> CountFinding:
    """Derive the multiply-adds; modules are those that multiply, or have no formula."""
    config, build = opened.architecture.config, builder(opened.source)
    model_type = config["model_type"]
    start = time.perf_counter()
    costs = derive_costs(config, build)
    seconds = time.perf_counter() - start
    modules = [module for module in costs.modules.values() if module.macs != "0"]
    tried = try_costs(config, costs, build, seed, fresh)
    return CountFinding(
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


def summary(findings: Sequence[CountFinding]) -> str:
    """Return how many types have all formulas, what is missing, and what was wrong."""
    opened = [finding for finding in findings if not finding.error]
    whole = [finding for finding in opened if finding.is_whole]
    lines = [
        "",
        f"{len(findings)} types, {len(opened)} open, {len(whole)} of them are whole"
        f"{share(len(whole), len(opened))}",
    ]
    for finding in opened:
        if not finding.is_whole:
            lines += ["", f"{finding.model_type}: {finding.proven} of {finding.modules} modules"]
            lines += [f"  {cause}" for cause in finding.causes[:4]]
    modules = sum(finding.modules for finding in opened)
    proven = sum(finding.proven for finding in opened)
    lines += [
        "",
        f"{proven:,} of {modules:,} modules have a proven formula{share(proven, modules)}",
    ]
    if any(finding.configurations for finding in opened):
        wrong = [(finding.model_type, line) for finding in opened for line in finding.mistakes]
        lines += [
            f"{sum(finding.evaluations for finding in opened):,} evaluations on "
            f"{sum(finding.configurations for finding in opened):,} new configurations, "
            f"{sum(finding.outside for finding in opened):,} more outside of their domains: "
            f"{len(wrong)} wrong",
            *(f"  {name}: {line}" for name, line in wrong),
        ]
    lines += ["", "Not opened:"]
    lines += [f"  {f.model_type}: {f.error[:200]}" for f in findings if f.error]
    return "\n".join(lines)
