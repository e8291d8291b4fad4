"""Requests of the helper process: retries, resuming, digests, redirects and refusals."""

import hashlib
import logging
import resource
import traceback
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from msgspec import to_builtins

from bertviewer.core.hub.connection import TransferLimits, host_of
from bertviewer.core.hub.transfers import Request
from bertviewer.core.hub.worker import fetch, redirected
from bertviewer.core.util.errors import UserError
from tests.core.hub.conftest import CONTENT, FILE, REPO, TOKEN
from tests.core.hub.hub_server import Fault, HubServer, digest_of
from tests.tools.refusals import refusals

LIMITS = TransferLimits(silence=1.0)


class Transfer:
    """Fetches a file from the server into ``file``, in this process.

    Attributes:
        pauses: between tries, in seconds; they are skipped.
        remarks: what it waited for.
    """

    def __init__(self, server: HubServer, file: Path, pauses: list[float], token: str = "") -> None:
        commit = server.add(REPO, {FILE: CONTENT})
        headers = {"authorization": f"Bearer {token}"} if token else {}
        path, digest = f"/{REPO}/resolve/{commit}/{FILE}", digest_of(FILE, CONTENT)
        self.server, self.file, self.pauses = server, file, pauses
        self.remarks: list[str] = []
        self._request = Request(
            server.url, headers, LIMITS, path, "the file", file=str(file), nbytes=len(CONTENT),
            digest=digest,
        )  # fmt: skip

    def fail(self, *faults: Fault) -> None:
        """Let the server fail in these ways, one after the other."""
        self.server.fail(FILE, *faults)

    def run(self) -> bytes:
        """Return the content of the file.

        Raises:
            UserError: it cannot be downloaded.
        """
        for remark in fetch(to_builtins(self._request)):
            self.remarks.append(remark)
        return self.file.read_bytes()


@pytest.fixture
def transfer(server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Transfer:
    pauses: list[float] = []
    monkeypatch.setattr("bertviewer.core.hub.worker.time.sleep", pauses.append)
    return Transfer(server, tmp_path / "file", pauses)


@pytest.fixture
def private(server: HubServer, transfer: Transfer) -> Transfer:
    """Return a transfer with the token that the server requires."""
    server.token = TOKEN
    return Transfer(server, transfer.file, transfer.pauses, TOKEN)


def failure(transfer: Transfer) -> str:
    with pytest.raises(UserError) as raised:
        transfer.run()
    return str(raised.value)


def starts(transfer: Transfer) -> list[int]:
    """Return the first byte of each request."""
    ranges = [r.headers.get("range", "bytes=0-") for r in transfer.server.requests]
    return [int(text.removeprefix("bytes=").partition("-")[0]) for text in ranges]


class TestBrokenConnections:
    def test_a_download_resumes_while_bytes_come(self, transfer: Transfer) -> None:
        transfer.fail(*[Fault(cut=30_000)] * 7)  # more than the retries in a row
        assert transfer.run() == CONTENT
        found = starts(transfer)
        assert len(found) == 8
        assert found == sorted(set(found))

    def test_without_new_bytes_it_ends_and_resumes_in_the_next_attempt(
        self, transfer: Transfer
    ) -> None:
        transfer.fail(Fault(cut=100_000), *[Fault(cut=0)] * 9)
        host = host_of(transfer.server.url)
        assert failure(transfer) == (
            f"the file: the connection to {host} keeps breaking off; what was downloaded is kept, "
            "and the next attempt resumes there"
        )
        size = transfer.file.stat().st_size
        assert 0 < size <= 100_000
        transfer.server.faults.clear()
        transfer.server.requests.clear()
        assert transfer.run() == CONTENT
        assert starts(transfer) == [size]

    def test_a_server_may_start_from_the_beginning(self, transfer: Transfer) -> None:
        transfer.fail(Fault(cut=100_000), Fault(ignores_range=True))
        assert transfer.run() == CONTENT

    def test_a_silent_connection_is_replaced(self, transfer: Transfer) -> None:
        transfer.fail(Fault(silent=True))
        assert transfer.run() == CONTENT


class TestContent:
    @pytest.mark.parametrize(
        "content",
        [CONTENT[:-1], CONTENT + b"x", CONTENT[:-1] + b"x", b"<html>log in</html>", b""],
        ids=["short", "long", "changed", "page", "empty"],
    )
    def test_another_content_is_discarded(self, transfer: Transfer, content: bytes) -> None:
        transfer.fail(Fault(content=content))
        message = "sent a different file from the one it announced"
        assert failure(transfer) == f"the file: {host_of(transfer.server.url)} {message}"
        assert not transfer.file.exists()
        assert transfer.run() == CONTENT

    @pytest.mark.parametrize("left", [b"something else", CONTENT + b"too long", CONTENT])
    def test_the_rest_of_an_earlier_attempt_is_verified(
        self, transfer: Transfer, left: bytes
    ) -> None:
        transfer.file.write_bytes(left)
        if left == b"something else":
            assert failure(transfer).endswith("sent a different file from the one it announced")
        assert transfer.run() == CONTENT
        assert bool(transfer.server.requests) == (left != CONTENT)

    def test_compressed_content_is_refused(self, transfer: Transfer) -> None:
        transfer.fail(Fault(200, {"Content-Encoding": "gzip"}))
        assert "sent compressed data" in failure(transfer)

    def test_digests_are_those_of_git_and_git_lfs(self) -> None:
        # `git hash-object` of a file with the line "hello".
        assert digest_of("x.txt", b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
        assert digest_of(FILE, b"hello\n") == hashlib.sha256(b"hello\n").hexdigest()

    def test_a_full_disk_is_reported(self, transfer: Transfer) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            assert failure(transfer) == f"cannot write {transfer.file}: File too large"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert transfer.run() == CONTENT


REFUSALS: Mapping[str, tuple[int, dict[str, str]]] = {
    "401": (401, {}),
    "403": (403, {}),
    "404": (404, {}),
    "no revision": (404, {"X-Error-Code": "RevisionNotFound"}),
    "no repository": (404, {"X-Error-Code": "RepoNotFound"}),
    "gated": (404, {"X-Error-Code": "GatedRepo"}),
    "410": (410, {}),
    "418": (418, {}),
    "too many requests": (429, {}),
    "too many requests for 300 s": (429, {"Retry-After": "300"}),
    "500": (500, {}),
    "503": (503, {"Retry-After": "x"}),
    # Redirects that are not followed.
    "no address": (302, {}),
    "an incomplete address": (302, {"Location": "http://["}),
    "a port that is too large": (302, {"Location": "http://127.0.0.1:99999/x"}),
    "a file": (302, {"Location": "file:///etc/passwd"}),
    "FTP": (302, {"Location": "ftp://127.0.0.1/x"}),
    "a circle": (302, {"Location": "?again"}),
}


class TestRefusals:
    @pytest.mark.parametrize("has_token", [False, True])
    def test_each_has_its_message(
        self, has_token: bool, transfer: Transfer, golden: Callable[[str, str], None]
    ) -> None:
        if has_token:
            transfer = Transfer(transfer.server, transfer.file, transfer.pauses, TOKEN)

        def run(refusal: tuple[int, dict[str, str]]) -> object:
            transfer.fail(*[Fault(*refusal)] * 9)
            return transfer.run()

        text = refusals(run, REFUSALS, host_of(transfer.server.url))
        golden(f"refusals/hub-{'with' if has_token else 'without'}-token.txt", text)
        assert transfer.file.read_bytes() == b""

    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
    def test_temporary_ones_are_retried_with_growing_pauses(
        self, transfer: Transfer, status: int
    ) -> None:
        transfer.fail(*[Fault(status)] * 3)
        assert transfer.run() == CONTENT
        assert sum(transfer.pauses) == pytest.approx(0.5 + 1 + 2)

    def test_the_server_may_ask_for_a_pause(self, transfer: Transfer) -> None:
        transfer.fail(Fault(429, {"Retry-After": "2"}))
        assert transfer.run() == CONTENT
        assert sum(transfer.pauses) == 2
        assert transfer.remarks[:4] == ["", "retrying in 2 s", "retrying in 1 s", ""]

    def test_the_pause_may_be_a_date(self, transfer: Transfer) -> None:
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=500), usegmt=True)
        transfer.fail(Fault(429, {"Retry-After": date}))
        seconds = int(failure(transfer).split()[-2])
        assert 400 < seconds <= 500


class TestToken:
    @pytest.fixture
    def other_server(self) -> Iterator[HubServer]:
        """Return another host, such as the Hub's store of large files."""
        server = HubServer()
        yield server
        server.stop()

    def test_it_is_not_sent_to_other_hosts(
        self, other_server: HubServer, private: Transfer
    ) -> None:
        commit = other_server.add("store/it", {FILE: CONTENT})
        location = f"{other_server.url}/store/it/resolve/{commit}/{FILE}?signature=x"
        private.fail(*[Fault(302, {"Location": location})] * 2)
        other_server.fail(FILE, Fault(cut=100_000))
        assert private.run() == CONTENT
        assert all("authorization" not in request.headers for request in other_server.requests)
        assert all(request.headers["authorization"] for request in private.server.requests)
        # A redirect is valid for a while: after the cut the Hub is asked for another one.
        assert len(private.server.asked(FILE)) == len(other_server.requests) == 2

    def test_it_is_sent_to_other_paths_of_the_hub(self, private: Transfer) -> None:
        commit = private.server.add(REPO, {FILE: CONTENT})
        location = f"/{REPO}/resolve/{commit}/{FILE}?again"
        private.fail(Fault(307, {"Location": location}))
        assert private.run() == CONTENT

    def test_it_is_never_shown(self, private: Transfer, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        private.fail(Fault(cut=10_000), Fault(500), *[Fault(403)] * 2)
        with pytest.raises(UserError) as raised:
            private.run()
        assert "request it on the model's page" in str(raised.value)
        trace = "".join(traceback.format_exception(raised.value))
        for text in (trace, caplog.text, repr(private.remarks)):
            assert TOKEN[3:] not in text


def test_redirects_stay_encrypted(transfer: Transfer) -> None:
    with pytest.raises(UserError, match=r"redirects to example\.org without encryption"):
        redirected(transfer._request, "https://hub.example/x", "http://example.org/y")
