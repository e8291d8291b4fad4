"""``python -m tests.fuzz [TARGET …] [--count N] [--first N]``: thousands of damaged files."""

import argparse
import sys

from tests.fuzz.cases import Fuzzer
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Try the cases and print the defects; the status is 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--count", type=int, default=10_000, help="cases of each target")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    options = parser.parse_args()
    failed = False
    with Fuzzer() as fuzzer:
        for name in options.targets or TARGETS:
            outcome = fuzzer.try_cases(name, options.count, options.first)
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.counts.items()))
            sys.stdout.write(f"{name}: {counts}, {len(outcome.broken)} broken\n")
            for number, verdict in outcome.broken:
                sys.stdout.write(f"  case {number}: {verdict}\n")
            sys.stdout.flush()
            failed = failed or bool(outcome.broken)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
