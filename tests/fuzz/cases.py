"""Sends cases to workers and collects what went wrong: deaths, hangs and tracebacks."""

import queue
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 120
"""What a worker may take to import torch."""
HANG_SECONDS = 120
"""A case that takes longer by the clock hangs; of its own work it may do 5 seconds."""


@dataclass
class Outcome:
    """How many cases of a target went well, and which ones did not."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)


def work_through(name: str, count: int, first: int = 0) -> Outcome:
    """Try so many cases of a target; a worker that dies is replaced."""
    outcome = Outcome()
    number, end = first, first + count
    while number < end:
        with _Worker(name, number, end - number) as worker:
            while number < end:
                line = worker.line(HANG_SECONDS)
                if line in ("fine", "refused"):
                    outcome.counts[line] += 1
                else:
                    outcome.broken.append((number, line or worker.end()))
                number += 1
                if line is None:
                    break
    return outcome


class _Worker:
    """A process that works through cases, and a thread that reads its lines."""

    def __init__(self, name: str, first: int, count: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", name, str(first), str(count)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._read_lines),
            threading.Thread(target=self._read_errors),
        ]
        for thread in self._threads:
            thread.start()
        self._hung = False
        if self.line(START_SECONDS) != "ready":
            raise RuntimeError(f"the worker did not start: {self.end()}")

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()

    def line(self, seconds: float) -> str | None:
        """Return its next line; ``None`` if it died or hangs."""
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            self._hung = True
            return None

    def end(self) -> str:
        """Say how it ended."""
        if self._hung:
            return f"no answer in {HANG_SECONDS} s"
        status = self._process.wait()
        return f"the process died with status {status}: {''.join(self._errors)[-500:]!r}"

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)
