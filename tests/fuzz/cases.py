"""Sends cases to a worker and collects what went wrong: deaths, hangs and tracebacks."""

import contextlib
import queue
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from msgspec import Struct, field

START_SECONDS = 600
"""What a worker may take to import torch and what a target needs."""
HANG_SECONDS = 120
"""A case that takes longer by the clock hangs; of its own work it may do 5 seconds."""


class Outcome(Struct):
    """How many cases of a target went well, and which ones did not."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)


class Workers:
    """A worker that lasts from one target to the next, as its start takes longer than many cases.

    One that has died is replaced.
    """

    def __init__(self) -> None:
        self._worker: _Worker | None = None

    def __enter__(self) -> "Workers":
        self._worker = _Worker()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_up()

    def work_through(self, name: str, count: int, first: int = 0) -> Outcome:
        """Try so many cases of a target."""
        outcome = Outcome()
        worker: _Worker | None = None
        for number in range(first, first + count):
            worker = worker or self._ready_for(name)
            line = worker.answer(str(number), HANG_SECONDS)
            if line in ("fine", "refused"):
                outcome.counts[line] += 1
            else:
                outcome.broken.append((number, line or worker.end()))
            if line is None:
                self._give_up()
                worker = None
        return outcome

    def _ready_for(self, name: str) -> "_Worker":
        self._worker = self._worker or _Worker()
        if self._worker.answer(name, START_SECONDS) != "ready":
            raise RuntimeError(f"the worker did not start: {self._worker.end()}")
        return self._worker

    def _give_up(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None


class _Worker:
    """A process that works through cases, and threads that read what it says."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
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

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            # What a worker that died has not read is lost.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def answer(self, question: str, seconds: float) -> str | None:
        """Return the line that answers another; ``None`` if it died or hangs."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{question}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            self._hung = True
            return None

    def end(self) -> str:
        """Say how it ended."""
        if self._hung:
            return "no answer in time"
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
