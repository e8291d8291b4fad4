"""What the helper process does: redirects, retries, resuming and checking digests.

It uses httpx2, the HTTP client of huggingface_hub, but not ``hf_hub_download`` (2.4), which

- cannot resume: a download that fails is deleted, one that is killed stays as a file that is never
  used again;
- does not compare the content with its digest, and checks its size after all of it was written;
- names the blob by the server's ``ETag`` header, also if that is a path;
- waits as long as ``Retry-After`` says;
- reads in pieces of 10 MB: at 0.2 MB/s, 51 seconds without a sign of life, lost if the connection
  breaks.
"""

import email.utils
import hashlib
import math
import os
import re
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import msgspec

from bertviewer.core.hub.connection import host_of, origin
from bertviewer.core.hub.transfers import PART_SUFFIX, Request, Unreachable
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.sandbox import Functions

if TYPE_CHECKING:
    import httpx2

MAX_RETRIES = 4
"""Retries in a row; they are counted from the start when bytes were received."""
LONGEST_PAUSE = 90.0
"""Seconds that a server may ask to wait; it is an error if it asks for more."""
MAX_REDIRECTS = 6
LOGIN = "hf auth login"

_REDIRECTS = (301, 302, 303, 307, 308)
_RETRIED = (408, 429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes (\d{1,18})-")
_BLOCK = 1 << 20


def functions() -> Functions:
    """Return what the helper process can be called for."""
    return {"fetch": fetch}


def fetch(request: dict[str, Any]) -> Generator[str, None, str]:
    """Carry out a ``Request``: write the content into its file.

    Yields remarks on what it waits for, "" if that is the content; returns the message of
    ``Unreachable``, or an empty string.

    Raises:
        UserError: the Hub refuses, the content has another size or digest, in which case it is
            deleted, or it cannot be written.
    """
    wanted = msgspec.convert(request, Request)
    try:
        yield ""
        yield from _write(wanted)
    except Unreachable as error:
        return str(error)
    except OSError as error:
        file = wanted.file.removesuffix(PART_SUFFIX)
        raise UserError(f"cannot write {file}: {error_reason(error)}") from error
    return ""


def _write(request: Request) -> Iterator[str]:
    file = Path(request.file)
    # git's SHA-1 is of the size and the content, a large file's SHA-256 of the content alone.
    is_large = len(request.digest) == 64
    digest = hashlib.sha256() if is_large else hashlib.sha1(b"blob %d\0" % request.nbytes)
    size = file.stat().st_size if file.is_file() else 0
    if size > request.nbytes:
        file.unlink()
        size = 0
    if size:
        yield "reading what is already here"
        with file.open("rb") as part:
            while block := part.read(_BLOCK):
                digest.update(block)
        yield ""
    # Unbuffered: what has come is kept if this process is killed.
    with file.open("ab", buffering=0) as written:
        if size < request.nbytes:
            for chunk in _chunks(request, request.start + size):
                if isinstance(chunk, str):
                    yield chunk
                    continue
                rest = memoryview(chunk)[: request.nbytes + 1 - size]
                while rest:
                    count = written.write(rest)
                    digest.update(rest[:count])
                    size, rest = size + count, rest[count:]
                if size > request.nbytes:
                    break
        if request.digest:
            yield "writing to the disk"
            os.fsync(written.fileno())
    if request.digest and (size != request.nbytes or digest.hexdigest() != request.digest):
        file.unlink()
        raise _error(request, "sent a different file from the one it announced")


def _chunks(request: Request, start: int) -> Iterator[bytes | str]:
    """Yield the content from a byte on, and remarks; reconnect where the connection breaks.

    Raises:
        Unreachable: there is no connection.
        UserError: the Hub refuses, or the connection breaks again and again.
    """
    import httpx2

    at, failures = start, 0
    while True:
        try:
            # A connection for each try: one that broke is not used again.
            with (
                httpx2.Client(timeout=request.limits.silence) as client,
                _response(client, request, at) as response,
            ):
                if response.status_code in (200, 206):
                    to_skip = at - _first_byte(request, response, at)
                    # Raw chunks as they come: what waits to be complete would be lost in a break.
                    for chunk in response.iter_raw():
                        new, to_skip = chunk[to_skip:], max(0, to_skip - len(chunk))
                        if new:
                            at, failures = at + len(new), 0
                            yield new
                    return
                failures += 1
                pause = _pause(request, response, failures)
                if pause is None:
                    raise _refusal(request, response.status_code, response.headers)
        except httpx2.InvalidURL as error:
            raise _error(request, "redirects without an address") from error
        except httpx2.TransportError as error:
            failures += 1
            host = host_of(request.endpoint)
            if at == start and isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
                raise Unreachable(f"{request.name}: {host} cannot be reached") from error
            if failures > MAX_RETRIES:
                raise UserError(
                    f"{request.name}: the connection to {host} keeps breaking off; "
                    "what was downloaded is kept, and the next attempt resumes there"
                ) from error
            pause = _backoff(request, failures)
        for left in range(math.ceil(pause), 0, -1):
            yield f"retrying in {left} s"
            time.sleep(min(1.0, pause - left + 1))
        yield ""


@contextmanager
def _response(client: "httpx2.Client", request: Request, start: int) -> Iterator["httpx2.Response"]:
    """Send a request, follow redirects that are allowed, and yield the response, unread."""
    url = request.endpoint + request.path
    for _ in range(MAX_REDIRECTS):
        headers = headers_for(request, url)
        if start or request.stop is not None:
            headers["range"] = f"bytes={start}-{'' if request.stop is None else request.stop - 1}"
        with client.stream("GET", url, headers=headers) as response:
            if response.status_code not in _REDIRECTS:
                yield response
                return
            location = response.headers.get("location", "")
        url = redirected(request, url, location)
    raise _error(request, "redirects in a circle")


def headers_for(request: Request, url: str) -> dict[str, str]:
    """Return the headers for a URL: the token goes to the endpoint and nowhere else."""
    headers = {"accept-encoding": "identity"}
    if origin(url) == origin(request.endpoint):
        headers |= request.headers
    elif agent := request.headers.get("user-agent"):
        headers["user-agent"] = agent
    return headers


def redirected(request: Request, url: str, location: str) -> str:
    """Return the URL that the answer of ``url`` redirects to.

    Raises:
        UserError: it is not valid, or not encrypted while ``url`` is.
    """
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        if not location or not parts.hostname or parts.port == 0:
            raise ValueError(location)
    except ValueError as error:
        raise _error(request, "redirects without an address") from error
    before = urlsplit(url)
    if parts.netloc == before.netloc and not parts.query:
        # A renamed model: the Hub's redirect lacks the query.
        target = parts._replace(query=before.query).geturl()
    allowed = ("https",) if before.scheme == "https" else ("http", "https")
    if parts.scheme not in allowed:
        raise _error(request, f"redirects to {parts.hostname} without encryption; not followed")
    return target


def _first_byte(request: Request, response: "httpx2.Response", at: int) -> int:
    """Return which byte an answer begins with: ``at``, or one before."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _error(request, "sent compressed data, which was not requested")
    if response.status_code == 200:
        return 0
    found = _RANGE.match(response.headers.get("content-range", ""))
    if found is None or int(found[1]) > at:
        raise _error(request, "sent other bytes than requested")
    return int(found[1])


def _backoff(request: Request, failures: int) -> float:
    return float(request.limits.first_pause * 2 ** (failures - 1))


def _pause(request: Request, response: "httpx2.Response", failures: int) -> float | None:
    """Return how many seconds to wait before the next try; ``None`` if there is none."""
    if response.status_code not in _RETRIED or failures > MAX_RETRIES:
        return None
    pause = _retry_after(response.headers)
    pause = _backoff(request, failures) if pause is None else pause
    return pause if pause <= LONGEST_PAUSE else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that ``Retry-After`` asks to wait; it may be a number or a date."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _error(request: Request, cause: str) -> UserError:
    return UserError(f"{request.name}: {host_of(request.endpoint)} {cause}")


def _refusal(request: Request, status: int, headers: Mapping[str, str]) -> UserError:
    """Return the error for a status that is not a success."""
    host, code = host_of(request.endpoint), headers.get("x-error-code", "")
    has_token = "authorization" in request.headers
    if status == 401:
        if has_token:
            text = f"not found on {host}, or the stored token is rejected ({LOGIN})"
        else:
            text = f"not found on {host}, or private; to open your own, log in: {LOGIN}"
    elif status == 403 or code == "GatedRepo":
        text = (
            f"{host} denies access; request it on the model's page"
            if has_token
            else f"{host} requires a token for it; log in: {LOGIN}"
        )
    elif status == 404 and code == "RevisionNotFound":
        text = f"{host} has no such revision"
    elif status in (404, 410):
        text = f"not found on {host}"
    elif status == 429:
        seconds = _retry_after(headers)
        later = "later" if seconds is None else f"in {seconds:.0f} seconds"
        text = f"{host} received too many requests from this address; try again {later}"
    elif status >= 500:
        text = f"{host} has a server problem (status {status}); try again later"
    else:
        text = f"{host} answered with status {status}"
    return UserError(f"{request.name}: {text}")
