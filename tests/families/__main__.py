"""``python -m tests.families``: examines every model type that transformers' AutoModel accepts.

Each is built small on the meta device from its own default configuration, opened, counted and
explained, in one of several processes with a time limit. With ``--fresh`` its proven formulas are
evaluated on configurations that no part of the derivation has seen. With ``--flow`` a forward pass
is traced instead; with ``--check`` a sentence is run in several dtypes, and checked. The exit
status is 1 if something is wrong.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tests.families import checking, counting, tracing
from tests.families.finding import Finding
from tests.families.walk import Walk, serve
from tests.tools.fresh import CONFIGURATIONS
from tests.tools.small_models import model_types

PROCESSES = 2
SECONDS = 120
"""Time limit for one type."""


class Mode(Struct, frozen=True):
    """What is done with each type.

    Attributes:
        kind: the class of the findings.
        examine: called with a type's name and a folder that it may write to.
        summary: text for all findings.
    """

    kind: type[Finding]
    examine: Callable[[str, Path], Finding]
    summary: Callable[[Sequence[Any]], str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine the named types, or all; print a line for each, and a summary."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _options(arguments)
    mode = _mode(options)
    if options.worker:
        serve(mode.examine, mode.kind)
        return 0
    flags = [argument for argument in arguments if argument not in options.names]
    command = [sys.executable, "-m", "tests.families", "--worker", *flags]
    findings: list[Finding] = []
    walk = Walk(command, mode.kind, options.seconds)
    for finding in walk.findings(options.names or list(model_types()), PROCESSES):
        findings.append(finding)
        line = msgspec.json.encode(finding).decode() if options.json else finding.row
        print(line, flush=True)  # noqa: T201
    if not options.json:
        print(mode.summary(findings))  # noqa: T201
    return int(any(finding.has_faults for finding in findings))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.families", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="model types; all if none")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit for each")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help=f"evaluate proven formulas on {CONFIGURATIONS} new configurations of each type",
    )
    parser.add_argument(
        "--costs", action="store_true", help="formulas of multiply-adds instead of parameters"
    )
    parser.add_argument("--flow", action="store_true", help="only trace a forward pass")
    parser.add_argument("--check", action="store_true", help="only check runs of a sentence")
    parser.add_argument("--draw", default="", help="any word: another one, other configurations")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _mode(options: argparse.Namespace) -> Mode:
    if options.check:
        return Mode(checking.CheckFinding, checking.examine, checking.summary)
    if options.flow:
        return Mode(tracing.TraceFinding, tracing.examine, tracing.summary)
    examine = partial(
        counting.examine,
        fresh=CONFIGURATIONS if options.fresh else 0,
        draw=options.draw,
        costs=options.costs,
    )
    return Mode(counting.CountFinding, examine, counting.summary)


if __name__ == "__main__":
    sys.exit(main())
