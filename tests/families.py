"""``python -m tests.families``: walks every model type that transformers' AutoModel accepts.

Each is built small on the meta device from its own default configuration, opened, counted and
explained, in one of two processes with a time limit, so that one that hangs or dies is told and
stops nothing. With ``--fresh`` each type's proven formulas are tried on configurations that no
part of the derivation has seen. With ``--flow`` a forward pass of each is traced instead; with
``--check`` each that reads text is run on a sentence in several dtypes, and checked.
"""

import argparse
import json
import logging
import select
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from tests.tools.checked_models import CheckFinding, examine_check
from tests.tools.checked_models import summary as check_summary
from tests.tools.examined import Finding, examine
from tests.tools.fresh import CONFIGURATIONS
from tests.tools.small_models import model_types, small_configuration
from tests.tools.traced_models import TraceFinding, examine_trace
from tests.tools.traced_models import summary as trace_summary

PROCESSES = 2
SECONDS = 120
"""A type that takes longer is given up."""

_ME = [sys.executable, "-m", "tests.families", "--worker"]
_OURS = threading.local()

AnyFinding = Finding | TraceFinding | CheckFinding
Kind = type[Finding] | type[TraceFinding] | type[CheckFinding]


def main(arguments: list[str] | None = None) -> int:
    """Walk the named types, or all, and print a table, what is missing, and the share."""
    parser = argparse.ArgumentParser(prog="python -m tests.families", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="model types; all if none")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit for each")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help=f"try proven formulas on {CONFIGURATIONS} fresh configurations of each type",
    )
    parser.add_argument(
        "--costs", action="store_true", help="formulas of multiply-adds, and not those of counts"
    )
    parser.add_argument("--flow", action="store_true", help="trace a forward pass, derive nothing")
    parser.add_argument("--check", action="store_true", help="check runs of a sentence")
    parser.add_argument("--draw", default="", help="any word: another one, other configurations")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        _work(_examiner(options))
        return 0
    findings: list[AnyFinding] = []
    chosen = {
        "--fresh": options.fresh,
        "--costs": options.costs,
        "--flow": options.flow,
        "--check": options.check,
    }
    flags = [flag for flag, is_set in chosen.items() if is_set]
    worker = [*_ME, *flags, f"--draw={options.draw}"]
    kind: Kind = CheckFinding if options.check else TraceFinding if options.flow else Finding
    for finding in _walk(worker, options.names or list(model_types()), options.seconds, kind):
        findings.append(finding)
        line = json.dumps(asdict(finding)) if options.json else _row(finding)
        print(line, flush=True)  # noqa: T201
    traces = [finding for finding in findings if isinstance(finding, TraceFinding)]
    counts = [finding for finding in findings if isinstance(finding, Finding)]
    checks = [finding for finding in findings if isinstance(finding, CheckFinding)]
    if not options.json:
        told = check_summary(checks) if checks else trace_summary(traces) if traces else ""
        print(told or _summary(counts))  # noqa: T201
    wrong = any(finding.mistakes for finding in counts) or any(it.failed for it in checks)
    return int(wrong or any(trace.faults for trace in traces))


def _examiner(options: argparse.Namespace) -> Callable[[str, Path], AnyFinding]:
    """Return what examines a type, in a folder that it may write to."""
    if options.check:
        return examine_check
    if options.flow:
        return examine_trace
    fresh = CONFIGURATIONS if options.fresh else 0

    def examined(name: str, folder: Path) -> Finding:
        config = small_configuration(name)
        return examine(config, folder, fresh, options.draw, costs=options.costs)

    return examined


def _work(examined: Callable[[str, Path], AnyFinding]) -> None:
    """Examine the types whose names are read, one a line, and write what was found."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print as well
    for line in sys.stdin:
        name = line.strip()
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = asdict(examined(name, Path(folder)))
            except Exception as error:  # noqa: BLE001 - any kind of error is a finding
                found = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        print(json.dumps({**found, "model_type": name}), flush=True, file=answers)


def _walk(command: list[str], names: list[str], seconds: float, kind: Kind) -> Iterator[AnyFinding]:
    workers: list[subprocess.Popen[str]] = []
    try:
        with ThreadPoolExecutor(PROCESSES) as pool:
            yield from pool.map(lambda name: _ask(command, name, seconds, workers, kind), names)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def _ask(
    command: list[str],
    name: str,
    seconds: float,
    workers: list[subprocess.Popen[str]],
    kind: Kind,
) -> AnyFinding:
    """Have this thread's process examine one type; start it, or start it anew, if need be."""
    worker: subprocess.Popen[str] | None = getattr(_OURS, "worker", None)
    if worker is None or worker.poll() is not None:
        worker = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        workers.append(worker)
        _OURS.worker = worker
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{name}\n")
    worker.stdin.flush()
    ready, _, _ = select.select([worker.stdout], [], [], seconds)
    line = worker.stdout.readline() if ready else ""
    if not line:
        worker.kill()
        worker.wait()
        return kind(name, f"no answer in {seconds:g} s" if not ready else "its process died")
    data: Any = json.loads(line)
    fields: Any = {key: tuple(it) if isinstance(it, list) else it for key, it in data.items()}
    return kind(**fields)


def _row(finding: AnyFinding) -> str:
    if not isinstance(finding, Finding):
        return finding.row
    if finding.error:
        return f"{finding.model_type:32} does not open: {finding.error[:160]}"
    mark = "whole" if finding.is_whole else "PARTS" if finding.exact else "WRONG"
    share = f"{finding.proven}/{finding.modules}"
    about = f"{finding.model_type:32} {mark} {share:>11} {finding.seconds:6.1f} s"
    if finding.configurations:
        about += f" {finding.evaluations:6} tried, {len(finding.mistakes)} wrong"
    return f"{about}  {finding.formula[:90]}"


def _summary(findings: list[Finding]) -> str:
    opened = [finding for finding in findings if not finding.error]
    whole = [finding for finding in opened if finding.is_whole]
    lines = ["", f"{len(findings)} types, {len(opened)} open, {len(whole)} of them are whole"]
    if opened:
        lines[-1] += f" ({len(whole) / len(opened):.1%})"
    for finding in opened:
        if not finding.is_whole:
            lines += ["", f"{finding.model_type}: {finding.proven} of {finding.modules} modules"]
            lines += [f"  {cause}" for cause in finding.causes[:4]]
    lines += _trials(opened)
    lines += ["", "Not opened:"]
    lines += [f"  {f.model_type}: {f.error[:200]}" for f in findings if f.error]
    return "\n".join(lines)


def _trials(findings: list[Finding]) -> list[str]:
    """Say how many modules have a formula, and how these fared on fresh configurations."""
    modules = sum(finding.modules for finding in findings)
    proven = sum(finding.proven for finding in findings)
    share = f" ({proven / modules:.1%})" if modules else ""
    lines = ["", f"{proven:,} of {modules:,} modules have a proven formula{share}"]
    if not any(finding.configurations for finding in findings):
        return lines
    wrong = [(finding.model_type, line) for finding in findings for line in finding.mistakes]
    lines += [
        f"{sum(finding.evaluations for finding in findings):,} evaluations on "
        f"{sum(finding.configurations for finding in findings):,} fresh configurations, "
        f"{sum(finding.outside for finding in findings):,} more outside of their domains: "
        f"{len(wrong)} wrong"
    ]
    return lines + [f"  {name}: {line}" for name, line in wrong]


if __name__ == "__main__":
    sys.exit(main())
