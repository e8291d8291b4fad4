"""What becomes of one model type when a forward pass of it is traced."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviewer.core.errors import UserError
from bertviewer.core.flow.tracing_models import TracedModel, trace_model
from bertviewer.core.loading import open_model
from bertviewer.core.source import parse_source
from bertviewer.core.special_floats import encoded
from tests.small_models import configurations


@dataclass(frozen=True, slots=True)
class TraceFinding:
    """What became of one model type.

    Attributes:
        model_type: its name.
        error: why it does not open, empty if it does.
        stopped: where and why its pass stopped, empty if it did not.
        device: ``meta`` without numbers, ``cpu`` with random ones.
        kinds: what it was given: text, image, sound, time series.
        layers: how many variants with fewer layers than by default did not come as far.
        called: how many modules were called.
        calls: how often, all together.
        operations: how many there were.
        seconds: for building and tracing.
        modules: how many modules could have a formula, if they were asked for.
        formulas: how many of these have one.
        checks: how many of these have a check that passes.
    """

    model_type: str
    error: str = ""
    stopped: str = ""
    device: str = ""
    kinds: tuple[str, ...] = ()
    layers: int = 0
    called: int = 0
    calls: int = 0
    operations: int = 0
    seconds: float = 0.0
    modules: int = 0
    formulas: int = 0
    checks: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the pass came to its end."""
        return not self.error and not self.stopped

    @property
    def row(self) -> str:
        """The finding in a line."""
        if self.error:
            return f"{self.model_type:32} does not open: {self.error[:160]}"
        mark = "whole" if self.is_whole else "PART" if self.calls else "NOT"
        return (
            f"{self.model_type:32} {mark:5} {self.device:4} {'+'.join(self.kinds):12} "
            f"{self.calls:6} calls {self.operations:7} operations {self.seconds:6.1f} s  "
            f"{self.stopped[:160]}"
        ).rstrip()


def examine_trace(model_type: str, folder: Path) -> TraceFinding:
    """Open a type as the program does and trace it; with more layers if it needs them.

    Args:
        model_type: its name.
        folder: where the configuration's file may be written.

    Raises:
        Exception: whatever transformers raises for its own default configuration.
    """
    start = time.perf_counter()
    found: list[TraceFinding] = []
    for layers, config in enumerate(configurations(model_type)):
        try:
            traced = _traced(config, folder)
        except UserError as error:
            words = " ".join(str(error).replace(str(folder), "").split())
            found.append(TraceFinding(model_type, words, layers=layers))
        else:
            seconds = time.perf_counter() - start
            found.append(_finding(model_type, traced, layers, seconds))
        if found[-1].is_whole:
            break
    return max(
        reversed(found),
        key=lambda finding: (finding.is_whole, not finding.error, finding.operations),
    )


def _traced(config: Mapping[str, Any], folder: Path) -> TracedModel:
    path = folder / "config.json"
    path.write_text(json.dumps(encoded(config), default=str), encoding="utf-8")
    opened = open_model(parse_source(str(path)))
    return trace_model(opened.source, opened.architecture.config)


def _finding(model_type: str, traced: TracedModel, layers: int, seconds: float) -> TraceFinding:
    trace = traced.trace
    return TraceFinding(
        model_type,
        stopped=" ".join(": ".join(part for part in trace.stopped or () if part).split()),
        device=traced.device,
        kinds=traced.kinds,
        layers=layers,
        called=len(trace.calls_of),
        calls=len(trace.calls),
        operations=len(trace.operations),
        seconds=seconds,
    )


def summary(findings: list[TraceFinding]) -> str:
    """Say how many types are traced, whole and in part, and why the others are not."""
    opened = [finding for finding in findings if not finding.error]
    whole = [finding for finding in opened if finding.is_whole]
    part = [finding for finding in opened if not finding.is_whole and finding.calls]
    on_meta = sum(finding.device == "meta" for finding in whole)
    lines = [
        "",
        f"{len(findings)} types, {len(opened)} open: {len(whole)} of them are traced whole"
        f"{_share(len(whole), len(opened))}, {on_meta} without numbers; {len(part)} in part"
        f"{_share(len(part), len(opened))}",
        f"{sum(finding.calls for finding in opened):,} calls, "
        f"{sum(finding.operations for finding in opened):,} operations",
    ]
    if modules := sum(finding.modules for finding in opened):
        formulas = sum(finding.formulas for finding in opened)
        checks = sum(finding.checks for finding in opened)
        lines.append(
            f"{formulas:,} of {modules:,} modules have a formula{_share(formulas, modules)}, "
            f"{checks:,} a check that passes{_share(checks, modules)}"
        )
    lines += ["", "Not whole:"]
    lines += [f"  {f.model_type}: {f.stopped[:200]}" for f in opened if not f.is_whole]
    lines += ["", "Not opened:"]
    lines += [f"  {f.model_type}: {f.error[:200]}" for f in findings if f.error]
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.1%})" if whole else ""
