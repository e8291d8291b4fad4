"""Whether a forward pass of a model type is traced, and every module explained and drawn."""

import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from typing_extensions import override

from bertviewer.charts.graph.dot import dot_of
from bertviewer.charts.graph.layout import draw
from bertviewer.core.formulas.catalogue import with_formulas
from bertviewer.core.graph.flow_reader import FlowReader
from bertviewer.core.graph.tracing_models import LENGTHS, TracedModel, trace_model
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.errors import UserError
from tests.families.finding import Finding, open_configuration, share
from tests.tools.small_models import configurations


class TraceFinding(Finding, frozen=True):
    """A traced forward pass of one model type.

    Attributes:
        stopped: where and why its pass stopped, empty if it did not.
        device: ``meta`` without numbers, ``cpu`` with random ones.
        kinds: what it was given: text, image, sound, time series.
        layers: how many variants with fewer layers than by default did not come as far.
        called: how many modules were called.
        calls: how often, all together.
        operations: how many there were.
        seconds: for building, tracing, reducing, writing and drawing.
        modules: how many modules were called and did something.
        formulas: how many of these have a forward formula.
        flows: how many kinds of modules there are, each drawn.
        faults: what went wrong where a flow was read, written as a formula or drawn.
    """

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
    flows: int = 0
    faults: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the pass came to its end."""
        return not self.error and not self.stopped

    @property
    @override
    def has_faults(self) -> bool:
        return bool(self.faults)

    @property
    @override
    def row(self) -> str:
        if self.error:
            return f"{self.model_type:32} does not open: {self.error[:160]}"
        mark = "whole" if self.is_whole else "PART" if self.calls else "NOT"
        return (
            f"{self.model_type:32} {mark:5} {self.device:4} {'+'.join(self.kinds):12} "
            f"{self.calls:6} calls {self.operations:7} operations {self.seconds:6.1f} s "
            f"{self.formulas:5}/{self.modules:<5} {len(self.faults) or ''} "
            f"{(*self.faults, self.stopped)[0][:160]}"
        ).rstrip()


def examine(model_type: str, folder: Path) -> TraceFinding:
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
            opened = open_configuration(config, folder)
            traced = trace_model(opened.source, opened.architecture.config)
        except UserError as error:
            words = " ".join(str(error).replace(str(folder), "").split())
            found.append(TraceFinding(model_type, words, layers=layers))
        else:
            seconds = time.perf_counter() - start
            finding = _finding(model_type, traced, layers, seconds)
            found.append(_with_readings(finding, traced, opened.architecture, start))
        if found[-1].is_whole:
            break
    return max(
        reversed(found),
        key=lambda finding: (finding.is_whole, not finding.error, finding.operations),
    )


def _with_readings(
    finding: TraceFinding, traced: TracedModel, architecture: Architecture, start: float
) -> TraceFinding:
    """Read the flows off a trace, write every module's formula, and lay every flow out."""
    faults: list[str] = []
    try:
        flows = FlowReader(traced.trace, architecture).flows(LENGTHS)
        written = with_formulas(replace(architecture, flows=flows))
    except Exception as error:  # noqa: BLE001 - any kind of error is a finding
        return replace(finding, faults=(f"{type(error).__name__}: {error}",))
    for path, flow in flows.distinct.items():
        try:
            if not flow.is_consistent:
                faults.append(f"{path}: it is inconsistent")
            draw(flow, lambda text, style, size: 0.6 * size * len(text))
            dot_of(flow)
        except Exception as error:  # noqa: BLE001 - likewise
            faults.append(f"{path}: {type(error).__name__}: {error}")
    called = {*flows.distinct, *flows.like}
    formulas = [node for node in written.modules if node.path in called and node.forward_formula]
    return replace(
        finding,
        modules=len(called),
        formulas=len(formulas),
        flows=len(flows.distinct),
        faults=tuple(faults),
        seconds=time.perf_counter() - start,
    )


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


def summary(findings: Sequence[TraceFinding]) -> str:
    """Return how many types are traced, whole and in part, and why the others are not."""
    opened = [finding for finding in findings if not finding.error]
    whole = [finding for finding in opened if finding.is_whole]
    part = [finding for finding in opened if not finding.is_whole and finding.calls]
    on_meta = sum(finding.device == "meta" for finding in whole)
    lines = [
        "",
        f"{len(findings)} types, {len(opened)} open: {len(whole)} of them are traced whole"
        f"{share(len(whole), len(opened))}, {on_meta} without numbers; {len(part)} in part"
        f"{share(len(part), len(opened))}",
        f"{sum(finding.calls for finding in opened):,} calls, "
        f"{sum(finding.operations for finding in opened):,} operations",
    ]
    if modules := sum(finding.modules for finding in opened):
        formulas = sum(finding.formulas for finding in opened)
        flows = sum(finding.flows for finding in opened)
        lines.append(
            f"{formulas:,} of {modules:,} modules have a formula{share(formulas, modules)}; "
            f"{flows:,} kinds of them are drawn"
        )
    lines += [f"  {f.model_type}: {fault[:200]}" for f in opened for fault in f.faults]
    lines += ["", "Not whole:"]
    lines += [f"  {f.model_type}: {f.stopped[:200]}" for f in opened if not f.is_whole]
    lines += ["", "Not opened:"]
    lines += [f"  {f.model_type}: {f.error[:200]}" for f in findings if f.error]
    return "\n".join(lines)
