"""The one process that reads tokenizers for this program, and how it is asked."""

import atexit
import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from bertviewer.core.tokenization import TOKENIZER_CHILD, TOO_MUCH
from bertviewer.core.util import child_process
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.log import write_log
from bertviewer.core.util.progress import Progress

LABEL = "Loading tokenizer"
THREAD = "bertviewer-tokenizers"
"""The name of the thread that takes its answers."""
WORK_SECONDS = 60
"""What one request may take of the processor's time, where the system can limit it."""
START_SECONDS = 300
"""How long its imports may take by the clock, on a machine that is busy."""
ANSWER_SECONDS = 300
"""How long an answer may take by the clock."""
ABANDONED_SECONDS = 2
"""How long an answer that nobody waits for any more may keep the next who asks waiting."""
MAX_ANSWER = 500_000_000  # bytes

_POLL = 0.05  # seconds from a wish to stop until it is noticed
# By the signals that limits of memory and time send: SIGABRT (Rust's own end), SIGKILL, SIGXCPU.
_LIMITS = (-6, -9, -24)


class DiedError(Exception):
    """The child is no more; the text says why, in a line."""


class Child:
    """A child process that was started, and a thread that reads its answers."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            OSError: there is no room for its files, or the system starts no more processes.
        """
        with ExitStack() as held:
            copies = tempfile.TemporaryDirectory(prefix="bertviewer-", ignore_cleanup_errors=True)
            self.folder = Path(held.enter_context(copies)).resolve()
            """Where what it is to read is copied to: it can read nothing else."""
            self._errors: IO[bytes] = held.enter_context(tempfile.TemporaryFile())
            self.process = child_process.start(
                TOKENIZER_CHILD,
                [str(self.folder), str(WORK_SECONDS)],
                self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
            """The child itself, as the system knows it."""
            self._held = held.pop_all()
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._is_ready = False
        self._abandoned: float | None = None
        """When somebody stopped waiting for an answer that is still to come."""
        self._forgotten: list[int] = []
        threading.Thread(target=self._read, name=THREAD, daemon=True).start()

    def ask(self, request: dict[str, Any], progress: Progress, label: str) -> Any:
        """Send a request and return the answer.

        Raises:
            UserError: the child refuses.
            DiedError: it has died, or takes too long.
            Cancelled: by ``progress``; whoever asks next waits a little for it to be done.
        """
        if not self._is_ready:
            self._line(START_SECONDS, progress, LABEL)
            self._is_ready = True
        forgotten, self._forgotten = self._forgotten, []
        line = json.dumps({**request, "forgotten": forgotten}).encode() + b"\n"
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except OSError:
            raise DiedError(self._end()) from None
        try:
            answer = json.loads(self._line(ANSWER_SECONDS, progress, label))
        except BaseException:
            self._abandoned = time.monotonic()
            raise
        if (refusal := answer.get("refusal")) is not None:
            raise UserError(refusal)
        return answer["answer"]

    def is_free(self, progress: Progress) -> bool:
        """Tell whether it lives and nothing is to come from it but the answer to what is asked.

        Raises:
            Cancelled: by ``progress``.
        """
        if self._abandoned is not None:
            left = self._abandoned + ABANDONED_SECONDS - time.monotonic()
            try:
                self._line(max(left, 0), progress, LABEL)
            except DiedError:
                return False
            self._abandoned = None
        # What tidies the temporary files up takes the folder of a window that is open for days.
        return self.process.poll() is None and self.folder.is_dir()

    def forget(self, number: int) -> None:
        """Have a tokenizer closed with the next request. For any thread."""
        self._forgotten.append(number)

    def end(self) -> None:
        """End it, whatever it does, and take away what it was to read."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with suppress(OSError):  # what was not sent any more
            self.process.stdin.close()
        self._held.close()

    def _line(self, seconds: float, progress: Progress, label: str) -> bytes:
        until = time.monotonic() + seconds
        while True:
            try:
                line = self._lines.get(timeout=_POLL)
            except queue.Empty:
                progress(0, 0, label)
                if time.monotonic() >= until:
                    raise DiedError(TOO_MUCH) from None
                continue
            if not line.endswith(b"\n"):
                raise DiedError(self._end())
            return line

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as answers:
            while (line := answers.readline(MAX_ANSWER)).endswith(b"\n"):
                self._lines.put(line)
        self._lines.put(b"")

    def _end(self) -> str:
        """Say in one line why it gave no answer."""
        self.process.kill()
        status = self.process.wait()
        if status in _LIMITS:
            return TOO_MUCH
        self._errors.seek(0)
        trace = self._errors.read()[-10_000:].decode("utf-8", "replace")
        log = write_log(f"the process that reads tokenizers ended with {status}:\n{trace}")
        return f"the process that read it crashed; details are in {log}"


class TokenizerProcess:
    """Starts the child when it is first needed, and another one after it has died.

    Any thread may take a turn with it, one at a time.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._child: Child | None = None

    @contextmanager
    def turn(self, progress: Progress) -> Iterator[Child]:
        """Give the child to ask inside the ``with``, once nobody else does.

        Raises:
            UserError: the child died or took too long inside the ``with``.
            Cancelled: by ``progress``, before.
        """
        while not self._turn.acquire(timeout=_POLL):
            progress(0, 0, LABEL)
        try:
            child = self._child
            if child is None or not child.is_free(progress):
                self.stop()
                child = self._child = Child()
            yield child
        except DiedError as error:
            self.stop()
            raise UserError(str(error)) from error
        except OSError as error:
            # No room for its files, or no more processes.
            raise UserError(f"tokenizers cannot be read: {error.strerror or error}") from error
        finally:
            self._turn.release()

    def start(self) -> None:
        """Start the child, whose imports take a second, without waiting for it."""
        if self._turn.acquire(blocking=False):
            try:
                self._child = self._child or Child()
            except OSError:
                pass  # whoever asks tries again, and is told
            finally:
                self._turn.release()

    def stop(self) -> None:
        """End the child, whoever waits for it; who asks again has another one started."""
        child, self._child = self._child, None
        if child is not None:
            child.end()


@cache
def tokenizer_process() -> TokenizerProcess:
    """Return the program's process for tokenizers, which ends with it."""
    process = TokenizerProcess()
    atexit.register(process.stop)
    return process
