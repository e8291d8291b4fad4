"""Requests to the Hub, sent by a helper process so that they can be cancelled at any moment.

The helper writes what it receives into a file, whose size is the progress. Its steps are remarks
on what it waits for.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, to_builtins

from bertviewer.core.hub.connection import Hub, TransferLimits
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.helper_process import HelperProcess

POLL = 0.1
"""Seconds between two calls of a progress callback, which may cancel."""
MAX_DESCRIPTION = 50_000_000  # bytes of a model's listing
PART_SUFFIX = ".bertviewer.incomplete"
"""Follows the name of a blob that is being downloaded."""
_WORKER = "bertviewer.core.hub.worker"
_MEMORY = 500_000_000  # bytes
_SECONDS = 1_000_000  # of CPU time: the stall rule ends a request much earlier

Tick = Callable[[int, str], None]
"""Called several times a second with the bytes that came since, and a remark on what goes on.

The remark is "" if nothing is unusual. Raises ``Cancelled`` to stop.
"""


class Unreachable(UserError):
    """No connection to the Hub: what is in its cache can still be opened."""


class Request(Struct, frozen=True):
    """A request for a resource of the Hub, or for a part of it.

    Attributes:
        endpoint: address of the Hub.
        headers: for the endpoint alone; a token may be among them.
        limits: how slow the Hub may be.
        path: path and query of the resource, below the endpoint.
        name: name of the resource in messages.
        start: first byte.
        stop: byte after the last one; ``None``: as far as it goes.
        file: where the content is written; with a digest, a partial download is continued.
        nbytes: size of the content; for a listing, the maximum.
        digest: of the whole content, empty if it is unknown.
    """

    endpoint: str
    headers: Mapping[str, str]
    limits: TransferLimits
    path: str
    name: str
    start: int = 0
    stop: int | None = None
    file: str = ""
    nbytes: int = MAX_DESCRIPTION
    digest: str = ""

    @property
    def is_bounded(self) -> bool:
        """Whether ``nbytes`` is the size of the content."""
        return bool(self.digest) or self.stop is not None


class StallRule:
    """Ends a request that takes too long or transfers too little.

    Args:
        limits: how slow the server may be.
        nbytes: size of the answer: a larger one may take longer.
    """

    def __init__(self, limits: TransferLimits, nbytes: int) -> None:
        self._limits = limits
        self._now = self._window_start = time.monotonic()
        self._end = self._now + limits.overall + nbytes / limits.least_rate
        self._received = 0

    def violation(self, nbytes: int, *, is_waiting: bool) -> str:
        """Count bytes; return how the server is too slow, as words that follow its name, or "".

        ``is_waiting``: whether it waits for something else than bytes: this time does not count.
        """
        before, self._now = self._now, time.monotonic()
        self._received += nbytes
        if is_waiting:
            self._window_start += self._now - before
        if self._now > self._end:
            return "is too slow"
        seconds, received = self._now - self._window_start, self._received
        if seconds < self._limits.window:
            return ""
        self._window_start, self._received = self._now, 0
        if received >= self._limits.least_rate * seconds:
            return ""
        return f"sends {received:,} bytes of it in {seconds:,.0f} seconds"


class TransferProcess:
    """A helper process that sends requests to a Hub, one at a time.

    Attributes:
        hub: the Hub.
        is_idle: whether no request was left unfinished, as by ``Cancelled``.
    """

    def __init__(self, hub: Hub) -> None:
        """Start the process.

        Raises:
            UserError: it cannot be started.
        """
        self.hub = hub
        self.is_idle = True
        self._process = HelperProcess(_WORKER, memory=_MEMORY, seconds=_SECONDS, access="network")

    def close(self) -> None:
        """Kill the process, whatever it does."""
        self._process.end()

    def request(self, path: str, name: str) -> Request:
        """Return the request for a resource; ``name`` is its name in messages."""
        return Request(self.hub.endpoint, self.hub.headers, self.hub.limits, path, name)

    def read(self, request: Request, tick: Tick) -> bytes:
        """Return the content of a resource, up to one byte more than ``nbytes``.

        Raises:
            Cancelled: by ``tick``.
            Unreachable: there is no connection, or no answer.
            UserError: the Hub refuses or is too slow.
        """
        file = self._process.folder / "content"
        file.unlink(missing_ok=True)
        self.download(request, file, tick)
        return file.read_bytes()

    def download(self, request: Request, file: Path, tick: Tick) -> None:
        """Write the content of a resource into a file, which may have a first part of it.

        Raises:
            Cancelled: by ``tick``.
            Unreachable: there is no connection, or no answer.
            UserError: the Hub refuses or is too slow, or the file cannot be written.
        """
        rule: StallRule | None = None
        remark = ""
        first = last = _size(file)

        def on_step(step: str) -> None:
            nonlocal rule, remark
            remark = step
            if rule is None:  # the process has started
                rule = StallRule(request.limits, request.nbytes if request.is_bounded else 0)

        def poll(done: int, total: int, label: str) -> None:
            nonlocal last
            before, last = last, _size(file)
            tick(last - before, remark)
            if rule is None or not (
                violation := rule.violation(last - before, is_waiting=bool(remark))
            ):
                return
            if last == first:
                raise Unreachable(f"{request.name}: {self.hub.host} does not answer")
            cause = f"{self.hub.host} {violation}; what was downloaded is kept"
            raise UserError(f"{request.name}: {cause}")

        self.is_idle = False
        poll(0, 0, "")
        sent = to_builtins(request) | {"file": os.fspath(file)}
        unreachable = self._process.call("fetch", {"request": sent}, poll, on_step=on_step)
        tick(_size(file) - last, "")
        self.is_idle = True
        if unreachable:
            raise Unreachable(unreachable)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


@contextmanager
def transfer_process(hub: Hub) -> Iterator[TransferProcess]:
    """Run a process that sends requests to a Hub.

    Raises:
        UserError: it cannot be started.
    """
    process = TransferProcess(hub)
    try:
        yield process
    finally:
        process.close()
