"""Helper processes: work that must not be able to harm this process, done in another one.

A file that makes a library hang, crash or take all memory ends the helper and nothing else. There
is one protocol for all: the program starts itself with a hidden argument and the name of a worker
module, whose ``functions()`` returns what can be called. A call is a line of JSON on the standard
input, ``[function, arguments]``. The answer is a line on the standard output, ``{"result": …}`` or
``{"error": message}``, after any number of ``{"step": …}``; an empty result comes first, when the
imports are done. ``sandbox`` has the inside of the process, and its limits.
"""

import atexit
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.log import write_log
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.sandbox import ARGUMENT, LIMIT_EXCEEDED, Access

THREAD = "bertviewer-helper"
"""The name of the threads that read answers."""
START_SECONDS = 300
"""How long a helper's imports may take."""
CLOCK_FACTOR = 5
"""How many times its CPU time a call may take by the clock, on a machine that is busy."""
ABANDONED_SECONDS = 2
"""How long the next call waits for the answer to a call that was cancelled."""
MAX_ANSWER = 500_000_000  # bytes

_POLL_SECONDS = 0.05
_TRACE_BYTES = 10_000
# SIGABRT (Rust and C++ without memory), SIGKILL (the system without memory), SIGXCPU.
_LIMIT_SIGNALS = (-6, -9, -24)
# The variables that a process needs to start; others may be secrets.
_ENVIRONMENT = (
    "PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "TEMP",
    "TMP", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONUTF8",
)  # fmt: skip
_NETWORK_ENVIRONMENT = (
    "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
    "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip

_running: "set[HelperProcess]" = set()
if hasattr(os, "register_at_fork"):
    # The helpers of the process that this one was forked from are not this one's.
    os.register_at_fork(after_in_child=_running.clear)


class HelperProcess:
    """A process that runs the functions of one worker module.

    Use it as a context manager, or through a ``Helper``, which restarts it. One thread may call it
    at a time.

    Attributes:
        folder: a temporary folder, the process's working directory. Files that it is to read can
            be copied there.
        process: the process itself.
    """

    def __init__(
        self,
        worker: str,
        *,
        memory: int,
        seconds: int,
        access: Access = "untrusted",
        reads: Sequence[Path] = (),
    ) -> None:
        """Start the process without waiting for its imports.

        Args:
            worker: the name of the module with ``functions()``.
            memory: how many bytes it may allocate after its imports.
            seconds: CPU time for each call.
            access: "untrusted" for a worker with untrusted data, which can only read files, and in
                few folders; "trusted" for all but the network and other programs; "network" for
                all that this program may do.
            reads: the folders that an untrusted worker may read, in addition to its own and the
                Python installation.

        Raises:
            UserError: the process cannot be started.
        """
        self._seconds = seconds
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._is_ready = False
        self._abandoned_at: float | None = None
        arguments = (str(memory), str(seconds), access, *map(str, reads))
        try:
            with ExitStack() as resources:
                self.folder = Path(tempfile.mkdtemp(prefix="bertviewer-")).resolve()
                resources.callback(shutil.rmtree, self.folder, ignore_errors=True)
                self._errors = resources.enter_context(tempfile.TemporaryFile())
                self.process = subprocess.Popen(
                    command(worker, str(self.folder), *arguments),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    cwd=self.folder,
                    env=environment(access),
                )
                self._resources = resources.pop_all()
        except OSError as error:
            raise UserError(f"no helper process can be started: {error_reason(error)}") from error
        _running.add(self)
        threading.Thread(target=self._read_answers, name=THREAD, daemon=True).start()

    def __enter__(self) -> Self:
        """Return the process."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the process."""
        self.end()

    def call(
        self,
        function: str,
        arguments: Mapping[str, Any],
        progress: Progress = no_progress,
        label: str = "",
        on_step: Callable[[Any], None] = lambda step: None,
    ) -> Any:
        """Call a function of the worker module and return its result.

        ``progress`` is called with ``label`` several times a second, ``on_step`` with each step.

        Raises:
            UserError: the function raised an error, or the process crashed or exceeded a limit; in
                the latter cases it has ended.
            Cancelled: by ``progress``; the process goes on until the next call.
        """
        assert self.process.stdin is not None
        if not self._is_ready:
            self._answer(START_SECONDS, progress, label, on_step)
            self._is_ready = True
        try:
            self.process.stdin.write(json.dumps([function, arguments]).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise self._failure() from None
        try:
            answer = self._answer(CLOCK_FACTOR * self._seconds, progress, label, on_step)
        except BaseException:
            self._abandoned_at = time.monotonic()
            raise
        if (error := answer.get("error")) is not None:
            raise UserError(error)
        return answer["result"]

    def is_free(self, progress: Progress, label: str = "") -> bool:
        """Return whether it can be called; an abandoned call gets a little time to finish.

        Raises:
            Cancelled: by ``progress``.
        """
        # A fork of the main process has none; a cleaner of temporary files may delete the folder.
        if self not in _running or not self.folder.is_dir():
            return False
        if self._abandoned_at is not None:
            left = self._abandoned_at + ABANDONED_SECONDS - time.monotonic()
            try:
                self._answer(max(left, 0), progress, label, lambda step: None)
            except UserError:
                return False
            self._abandoned_at = None
        return self.process.poll() is None

    def end(self) -> None:
        """Kill the process and delete its folder."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with suppress(OSError):  # the rest of a request
            self.process.stdin.close()
        self._resources.close()
        _running.discard(self)

    def _answer(
        self, seconds: float, progress: Progress, label: str, on_step: Callable[[Any], None]
    ) -> dict[str, Any]:
        """Return the answer to a call, after its steps."""
        polled = time.monotonic()
        deadline = polled + seconds
        while True:
            try:
                line = self._lines.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                pass  # no answer yet
            else:
                if not line.endswith(b"\n"):
                    raise self._failure()
                answer: dict[str, Any] = json.loads(line)
                if "step" not in answer:
                    return answer
                on_step(answer["step"])
            # By the clock: steps may come faster than the queue is ever empty.
            now = time.monotonic()
            if now - polled < _POLL_SECONDS:
                continue
            polled = now
            progress(0, 0, label)
            if now >= deadline:
                self.end()
                raise UserError(LIMIT_EXCEEDED)

    def _read_answers(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as answers:
            while (line := answers.readline(MAX_ANSWER)).endswith(b"\n"):
                self._lines.put(line)
        self._lines.put(b"")

    def _failure(self) -> UserError:
        """Return why there is no answer; the process is ended."""
        self.process.kill()
        status = self.process.wait()
        trace = b""
        if not self._errors.closed:
            self._errors.seek(0)
            trace = self._errors.read()[-_TRACE_BYTES:]
        self.end()
        if status in _LIMIT_SIGNALS:
            return UserError(LIMIT_EXCEEDED)
        log = write_log(f"a helper process ended with {status}:\n{trace.decode(errors='replace')}")
        return UserError(f"the helper process crashed; details are in {log}")


class Helper:
    """A helper process that is started on first use, and again after it has ended.

    Any thread may use it, one at a time.
    """

    def __init__(self, start: Callable[[], HelperProcess], label: str) -> None:
        """``label`` is what ``progress`` shows while another thread uses the process."""
        self._start = start
        self._label = label
        self._lock = threading.Lock()
        self._process: HelperProcess | None = None

    @contextmanager
    def session(self, progress: Progress = no_progress) -> Iterator[HelperProcess]:
        """Give this thread the running process, inside the ``with``.

        Raises:
            UserError: the process cannot be started.
            Cancelled: by ``progress``.
        """
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            progress(0, 0, self._label)
        try:
            if self._process is None or not self._process.is_free(progress, self._label):
                self.stop()
                self._process = self._start()
            yield self._process
        finally:
            self._lock.release()

    def prepare(self) -> None:
        """Start the process, whose imports take a second, without waiting for it."""
        if self._lock.acquire(blocking=False):
            try:
                self._process = self._process or self._start()
            except UserError:
                pass  # the next call tries again and reports it
            finally:
                self._lock.release()

    def stop(self) -> None:
        """End the process, even while another thread uses it."""
        process, self._process = self._process, None
        if process in _running:
            process.end()


def end_helpers() -> None:
    """End all helper processes; for a program that exits without waiting for threads."""
    for process in tuple(_running):
        process.end()


atexit.register(end_helpers)


def command(worker: str, *arguments: str) -> list[str]:
    """Return the command line of a helper process."""
    # Without -P, a module in the working directory could replace another one.
    program = [] if getattr(sys, "frozen", False) else ["-P", "-m", "bertviewer"]
    return [sys.executable, *program, ARGUMENT, worker, *arguments]


def environment(access: Access) -> dict[str, str]:
    """Return the environment variables of a helper process, without secrets."""
    names = (*_ENVIRONMENT, *(_NETWORK_ENVIRONMENT if access == "network" else ()))
    kept = {name: os.environ[name] for name in names if name in os.environ}
    # The folder that holds this package: it may be a checkout that is not installed.
    paths = [str(Path(__file__).resolve().parents[3])]
    paths += [path for path in sys.path if path and not getattr(sys, "frozen", False)]
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    return {
        **kept,
        **threads,
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
