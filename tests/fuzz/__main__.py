"""``python -m tests.fuzz [TARGET …] [--count N] [--first N]``: damaged files by the thousand."""

import argparse
import sys

from tests.fuzz.cases import Workers
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Try the cases, print what broke; the status is 1 if anything did."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--count", type=int, default=10_000, help="cases of each target")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    options = parser.parse_args()
    failed = False
    with Workers() as workers:
        for name in options.targets or TARGETS:
            outcome = workers.work_through(name, options.count, options.first)
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.counts.items()))
            sys.stdout.write(f"{name}: {kinds}, {len(outcome.broken)} broken\n")
            for number, what in outcome.broken:
                sys.stdout.write(f"  case {number}: {what}\n")
            sys.stdout.flush()
            failed = failed or bool(outcome.broken)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
