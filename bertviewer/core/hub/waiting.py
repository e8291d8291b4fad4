"""Reads an answer in a thread of its own, so that whoever waits for it can be told to stop."""

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2

from bertviewer.core.hub.pace import Pace

POLL = 0.1  # seconds between two looks at whether to go on
_AHEAD = 32  # chunks, of 64 KiB at most, that may be read before they are taken


class Exchange:
    """One GET and its answer.

    The thread that uses this never blocks for longer than ``POLL`` between two ticks of ``pace``,
    which may raise; the reading thread then has its connection cut, and ends.
    """

    def __init__(
        self,
        client: Callable[[], httpx2.Client],
        url: str,
        headers: Mapping[str, str],
        pace: Pace,
    ) -> None:
        self._client = client
        self._url = url
        self._headers = dict(headers)
        self._pace = pace
        self._items: queue.Queue[Any] = queue.Queue(_AHEAD)
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None
        # A daemon: nobody can interrupt a name look-up.
        self._thread = threading.Thread(target=self._read, name="bertviewer-hub", daemon=True)

    def __enter__(self) -> "Exchange":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Cut the connection."""
        self._stopped.set()
        held = self._socket
        if held is not None:
            # It may be closed already.
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def answer(self) -> tuple[int, Mapping[str, str]]:
        """Wait for the answer's status and headers.

        Raises:
            httpx2.HTTPError: no answer came.
            TooSlow: it does not come.
        """
        item = self._take()
        assert isinstance(item, tuple)
        return item

    def chunks(self) -> Iterator[bytes]:
        """Give the answer's bytes as they come.

        Raises:
            httpx2.HTTPError: the connection was lost, or nothing came for too long.
            TooSlow: too little comes.
        """
        while (item := self._take()) is not None:
            yield item

    def _take(self) -> Any:
        while True:
            self._pace.tick()
            began = time.monotonic()
            try:
                item = self._items.get(timeout=POLL)
            except queue.Empty:
                self._pace.waited(time.monotonic() - began)
                continue
            self._pace.waited(time.monotonic() - began)
            if isinstance(item, BaseException):
                raise item
            return item

    def _read(self) -> None:
        try:
            with (
                self._client() as client,
                client.stream(
                    "GET", self._url, headers=self._headers, extensions={"trace": self._trace}
                ) as response,
            ):
                self._put((response.status_code, response.headers))
                # Raw: bytes at an offset were asked for, and not a compressed form of them. As
                # they come: what waits for its chunk to fill would be lost in a cut.
                for chunk in response.iter_raw():
                    self._put(chunk)
            self._put(None)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            self._put(error)

    def _put(self, item: Any) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(queue.Full):
                self._items.put(item, timeout=POLL)
                return
        if not isinstance(item, BaseException):
            raise httpx2.ReadError("no longer needed")

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        # Told by httpx: the connection, as soon as there is one.
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            held = info["return_value"].get_extra_info("socket")
            if isinstance(held, socket.socket):
                self._socket = held
                if self._stopped.is_set():
                    raise httpx2.ConnectError("no longer needed")
