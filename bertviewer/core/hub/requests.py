"""Gets bytes from the hub: follows redirects, waits when told to, goes on after a cut."""

import json
import math
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx2
from msgspec import Struct

from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.listing import Listing, RemoteFile, read_listing
from bertviewer.core.hub.pace import Pace, TooSlow
from bertviewer.core.hub.refusals import RETRIED, Unreachable, refusal, retry_after
from bertviewer.core.hub.waiting import POLL, Exchange
from bertviewer.core.sources.hub_name import HubName
from bertviewer.core.util.errors import UserError

Tick = Callable[[str], None]
"""Called several times a second with a remark on what goes on, "" if nothing is unusual; raises
``Cancelled`` to stop."""

PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each new try; when bytes come, they are counted from the start."""
LONGEST_WAIT = 90.0  # seconds that a hub may ask for before that is told instead of waited
MAX_REDIRECTS = 6
MAX_ANSWER = 50_000_000  # bytes of a model's description

_REDIRECTS = (301, 302, 303, 307, 308)
_RANGE = re.compile(r"bytes (\d{1,18})-")


class Resource(Struct, frozen=True):
    """What can be asked for: its path below the hub's address, and its name in messages."""

    hub: Hub
    path: str
    what: str

    def error(self, cause: str) -> UserError:
        """Return an error that names it and the hub, before the cause."""
        return UserError(f"{self.what}: {self.hub.host} {cause}")


def get_listing(hub: Hub, name: HubName, tick: Tick) -> Listing:
    """Ask which commit a revision is, and which files it has.

    Raises:
        Unreachable: there is no connection.
        UserError: there is no such model, or it may not be seen.
    """
    path = f"/api/models/{name.repo}/revision/{quote(name.revision, safe='')}?blobs=true"
    asked = Resource(hub, path, str(name))
    raw = bytearray()
    with closing(read_bytes(asked, tick)) as chunks:
        for chunk in chunks:
            raw += chunk
            if len(raw) > MAX_ANSWER:
                raise asked.error("sent far too long a description")
    try:
        data: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise asked.error("does not answer like a model hub") from error
    return read_listing(name, data)


def remote_file(hub: Hub, name: HubName, file: RemoteFile) -> Resource:
    """Return a file of a model at a commit."""
    path = f"/{name.repo}/resolve/{name.revision}/{quote(file.name)}"
    return Resource(hub, path, f"{name}: {file.name}")


def read_bytes(
    asked: Resource, tick: Tick, start: int = 0, stop: int | None = None, *, nbytes: int = 0
) -> Generator[bytes, None, None]:
    """Give the bytes from ``start`` to ``stop``, or more; go on after cuts.

    ``nbytes`` is how many there should be, as far as that is known: more may take longer.

    Close the generator as soon as there are enough, and the connection is cut.

    Raises:
        Unreachable: there is no connection, or no answer.
        UserError: the hub refuses, is too slow, or the connection breaks again and again.
    """
    at, failures, is_answered = start, 0, False
    pace = Pace(asked.hub.limits, nbytes, lambda: tick(""))
    while True:
        try:
            with _answer(asked, pace, at, stop) as (exchange, status, headers):
                is_answered = True
                if status in (200, 206):
                    to_skip = at - _first_byte(asked, status, headers, at)
                    for chunk in exchange.chunks():
                        pace.came(len(chunk))
                        fresh, to_skip = chunk[to_skip:], max(0, to_skip - len(chunk))
                        if fresh:
                            at, failures = at + len(fresh), 0
                            yield fresh
                    return
                failures += 1
                wait = _wait(status, headers, failures)
                if wait is None:
                    raise refusal(asked.hub, asked.what, status, headers)
        except TooSlow as error:
            if not is_answered:
                raise Unreachable(f"{asked.what}: {asked.hub.host} does not answer") from error
            raise asked.error(f"{error}; what was downloaded is kept") from error
        except httpx2.InvalidURL as error:
            raise asked.error("redirects without an address") from error
        except httpx2.TransportError as error:
            failures += 1
            if at == start and isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
                raise Unreachable(f"{asked.what}: {asked.hub.host} cannot be reached") from error
            if failures > len(PAUSES):
                raise UserError(
                    f"{asked.what}: the connection to {asked.hub.host} keeps breaking off; "
                    "what was downloaded is kept, and the next attempt resumes there"
                ) from error
            wait = PAUSES[failures - 1]
        _pause(wait, tick)


@contextmanager
def _answer(
    asked: Resource, pace: Pace, start: int, stop: int | None
) -> Iterator[tuple[Exchange, int, Mapping[str, str]]]:
    url = asked.hub.endpoint + asked.path
    for _ in range(MAX_REDIRECTS):
        headers = asked.hub.headers_for(url)
        if start or stop is not None:
            headers["range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        with Exchange(_client(asked.hub), url, headers, pace) as exchange:
            status, answered = exchange.answer()
            if status not in _REDIRECTS:
                yield exchange, status, answered
                return
        url = redirected(asked, url, answered.get("location", ""))
    raise asked.error("redirects in a circle")


def _client(hub: Hub) -> Callable[[], httpx2.Client]:
    # One for each exchange, with one connection: cutting it must not hurt another.
    return lambda: httpx2.Client(timeout=hub.patience, follow_redirects=False)


def redirected(asked: Resource, url: str, location: str) -> str:
    """Return the address that an answer of ``url`` leads to.

    Raises:
        UserError: it is none, or not encrypted as ``url`` is.
    """
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        if not location or not parts.hostname or parts.port == 0:
            raise ValueError(location)
    except ValueError as error:
        raise asked.error("redirects without an address") from error
    before = urlsplit(url)
    if parts.netloc == before.netloc and not parts.query:
        # A model that was renamed: what was asked about it stays the same.
        target = parts._replace(query=before.query).geturl()
    allowed = ("https",) if before.scheme == "https" else ("http", "https")
    if parts.scheme not in allowed:
        raise asked.error(f"redirects to {parts.hostname} without encryption; not followed")
    return target


def _first_byte(asked: Resource, status: int, headers: Mapping[str, str], at: int) -> int:
    """Return which byte an answer begins with: ``at``, or one before."""
    if headers.get("content-encoding", "identity") != "identity":
        raise asked.error("sent compressed data, which was not requested")
    if status == 200:
        return 0
    found = _RANGE.match(headers.get("content-range", ""))
    if found is None or int(found[1]) > at:
        raise asked.error("sent other bytes than requested")
    return int(found[1])


def _wait(status: int, headers: Mapping[str, str], failures: int) -> float | None:
    """Return how long to wait before the next try; ``None`` if there is none."""
    if status not in RETRIED or failures > len(PAUSES):
        return None
    asked = retry_after(headers)
    wait = PAUSES[failures - 1] if asked is None else asked
    return wait if wait <= LONGEST_WAIT else None


def _pause(seconds: float, tick: Tick) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        tick(f"retrying in {math.ceil(left)} s")
        time.sleep(min(POLL, left))
