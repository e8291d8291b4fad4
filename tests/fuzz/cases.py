"""Tries damaged files in a helper process, and collects crashes, hangs and tracebacks."""

from collections import Counter
from typing import Self

from msgspec import Struct, field

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.helper_process import Helper, HelperProcess

MEMORY = 8_000_000_000
SECONDS = 60
"""CPU time after which a case counts as hanging."""


class Outcome(Struct):
    """The number of cases by verdict, and the cases that are defects of the program."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)


class Fuzzer:
    """Tries cases in a process that is restarted when it crashes."""

    def __init__(self) -> None:
        self._helper = Helper(
            lambda: HelperProcess(
                "tests.fuzz.worker", memory=MEMORY, seconds=SECONDS, access="network"
            ),
            "",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._helper.stop()

    def try_cases(self, target: str, count: int, first: int = 0) -> Outcome:
        """Try the cases ``first``, ``first`` + 1, … of a target."""
        outcome = Outcome()
        for number in range(first, first + count):
            try:
                with self._helper.session() as process:
                    verdict = process.call("try_case", {"target": target, "number": number})
            except UserError as error:
                verdict = str(error)
            if verdict in ("fine", "refused"):
                outcome.counts[verdict] += 1
            else:
                outcome.broken.append((number, verdict))
        return outcome
