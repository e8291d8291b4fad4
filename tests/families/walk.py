"""Examination of model types in processes with a time limit, which may hang or die."""

import logging
import select
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from tests.families.finding import Finding

AnyFinding = TypeVar("AnyFinding", bound=Finding)


def serve(examine: Callable[[str, Path], Finding], kind: type[Finding]) -> None:
    """Examine the types whose names are read, one in a line, and write the findings as JSON.

    Args:
        examine: called with a type's name and a folder that it may write to.
        kind: the class of its findings.
    """
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print as well
    for line in sys.stdin:
        name = line.strip()
        with tempfile.TemporaryDirectory() as folder:
            try:
                finding = examine(name, Path(folder))
            except Exception as error:  # noqa: BLE001 - any kind of error is a finding
                finding = kind(name, f"{type(error).__name__}: {' '.join(str(error).split())}")
        print(msgspec.json.encode(finding).decode(), flush=True, file=answers)


class Walk(Generic[AnyFinding]):
    """Processes that call ``serve``, each asked by a thread for one type at a time."""

    def __init__(self, command: Sequence[str], kind: type[AnyFinding], seconds: float) -> None:
        self._command, self._kind, self._seconds = command, kind, seconds
        self._started: list[subprocess.Popen[str]] = []
        self._local = threading.local()

    def findings(self, names: Sequence[str], processes: int) -> Iterator[AnyFinding]:
        """Yield what is found out about the named types, in their order."""
        try:
            with ThreadPoolExecutor(processes) as pool:
                yield from pool.map(self._ask, names)
        finally:
            for process in self._started:
                process.kill()
                process.wait()

    def _ask(self, name: str) -> AnyFinding:
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], self._seconds)
        line = process.stdout.readline() if ready else ""
        if line:
            return msgspec.json.decode(line, type=self._kind)
        process.kill()
        process.wait()
        return self._kind(
            name, "its process died" if ready else f"no answer in {self._seconds:g} s"
        )

    def _process(self) -> subprocess.Popen[str]:
        """Return this thread's process; start one if there is none or it died."""
        process: subprocess.Popen[str] | None = getattr(self._local, "process", None)
        if process is None or process.poll() is not None:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._started.append(process)
            self._local.process = process
        return process
