"""Hubs that keep a connection busy without sending the content: one message, within a time."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.hub.connection import Hub, TransferLimits
from bertviewer.core.hub.download import get_listing
from bertviewer.core.hub.transfers import Tick, Unreachable, transfer_process
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.hub.conftest import REPO

OK = b"HTTP/1.1 200 OK\r\n"
LONG = OK + b"Content-Length: 1000000\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
QUICK = TransferLimits(silence=0.4, window=0.6, overall=60.0, first_pause=0.01)

Misdeed = Callable[[], Iterator[bytes]]
Read = Callable[..., bytes]


def no_tick(nbytes: int, remark: str) -> None:
    """Report to nobody."""


def again(part: bytes, first: bytes = b"", pause: float = 0.05) -> Misdeed:
    """Return what sends the same part again and again."""

    def parts() -> Iterator[bytes]:
        yield first
        while True:
            time.sleep(pause)
            yield part

    return parts


def headers() -> Iterator[bytes]:
    yield OK
    for number in count():
        time.sleep(0.05)
        yield b"X-%d: x\r\n" % number


SILENT: dict[str, Misdeed] = {
    "nothing": again(b""),
    "100 Continue": again(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "100 Continue, fast": again(b"HTTP/1.1 100 Continue\r\n\r\n" * 50, pause=0.001),
    "slow headers": again(b"x", OK + b"X-Slow: "),
    "headers without end": headers,
    "headers without end, fast": again(b"X-More: x\r\n" * 50, OK, pause=0.001),
    "a status without end": again(b"2", b"HTTP/1.1 "),
    "a size of a chunk without end": again(b"0", CHUNKED),
}
SLOW: dict[str, Misdeed] = {
    "bytes one by one": again(b"x", LONG),
    "chunks of one byte": again(b"1\r\nx\r\n", CHUNKED),
    "then nothing": again(b"", LONG + b"x" * 100),
}


class Rogue:
    """Sends the same answer to whoever connects, until they go."""

    def __init__(self, misdeed: Misdeed) -> None:
        self.asked = 0
        self._misdeed = misdeed
        self._stopped = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def stop(self) -> None:
        self._stopped.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                held, _ = self._server.accept()
                self.asked += 1
                thread = threading.Thread(target=self._send, args=(held,))
                self._threads.append(thread)
                thread.start()

    def _send(self, held: socket.socket) -> None:
        with held, suppress(OSError):
            held.recv(65536)
            for part in self._misdeed():
                held.sendall(part)
                held.setblocking(False)
                with suppress(BlockingIOError):
                    if not held.recv(1):
                        return
                held.setblocking(True)
                if self._stopped.is_set():
                    return


@pytest.fixture
def rogue(request: pytest.FixtureRequest) -> Iterator[Rogue]:
    rogue = Rogue(request.param)
    yield rogue
    rogue.stop()


@pytest.fixture
def read(rogue: Rogue, tmp_path: Path) -> Iterator[Read]:
    """Return what requests a resource of the rogue."""
    with transfer_process(Hub(rogue.url, tmp_path, limits=QUICK)) as process:

        def read(limits: TransferLimits = QUICK, tick: Tick = no_tick) -> bytes:
            request = process.request("/x", "the file")
            return process.read(replace(request, limits=limits), tick)

        yield read


@pytest.mark.parametrize("rogue", SILENT.values(), ids=SILENT, indirect=True)
def test_who_never_answers_cannot_be_reached(read: Read) -> None:
    began = time.monotonic()
    with pytest.raises(UserError) as error:
        read()
    assert time.monotonic() - began < 10
    assert str(error.value).startswith("the file: ")
    # Headers that are too many are an answer that is none, and tried again.
    is_told = isinstance(error.value, Unreachable) or "keeps breaking off" in str(error.value)
    assert is_told, error.value


@pytest.mark.parametrize("rogue", SLOW.values(), ids=SLOW, indirect=True)
def test_who_sends_too_little_is_told(read: Read) -> None:
    began = time.monotonic()
    with pytest.raises(UserError, match=r"sends \d+ bytes of it in 1 seconds|again and again"):
        read()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "rogue", [SILENT["100 Continue"], SLOW["bytes one by one"]], ids=["100", "bytes"], indirect=True
)
def test_cancel_is_heard_at_once(read: Read) -> None:
    wished = threading.Event()

    def tick(_nbytes: int, _remark: str) -> None:
        if wished.is_set():
            raise Cancelled

    timer = threading.Timer(0.3, wished.set)
    timer.start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        read(TransferLimits(), tick)
    timer.join()
    assert time.monotonic() - began < 0.3 + 0.5


def dribble() -> Misdeed:
    """Return what sends a little more at each try, and closes."""
    tries = count(1)
    return lambda: iter([LONG + b"x" * 50 * next(tries)])


@pytest.mark.parametrize("rogue", [dribble()], ids=["cuts"], indirect=True)
def test_all_tries_together_have_an_end(rogue: Rogue, read: Read) -> None:
    limits = TransferLimits(window=1e9, overall=0.5, first_pause=0.01)
    with pytest.raises(UserError, match="is too slow; what was downloaded is kept"):
        read(limits)
    assert rogue.asked > 1


@pytest.mark.parametrize(
    "rogue", [lambda: iter([b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n"])],
    ids=["redirects"], indirect=True,
)  # fmt: skip
def test_redirects_have_an_end(rogue: Rogue, read: Read) -> None:
    with pytest.raises(UserError, match="redirects in a circle"):
        read(TransferLimits())
    assert rogue.asked < 10


MEBI = b"100000\r\n" + b"[" * (1 << 20) + b"\r\n"


@pytest.mark.parametrize("rogue", [again(MEBI, CHUNKED, 0.0)], ids=["body"], indirect=True)
def test_a_description_without_end(rogue: Rogue, tmp_path: Path) -> None:
    with (
        transfer_process(Hub(rogue.url, tmp_path)) as process,
        pytest.raises(UserError, match="sent far too long a description"),
    ):
        get_listing(process, HubName(REPO, "main"), no_tick)
