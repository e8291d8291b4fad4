"""Refusals, trouble that passes, and redirects; the token goes to the hub and nowhere else."""

import logging
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.download import get_listing
from bertviewer.core.hub.transfers import TransferProcess
from bertviewer.core.hub.worker import redirected
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.errors import UserError
from tests.core.hub.conftest import REPO, TOKEN, Processes
from tests.core.hub.files import CONTENT, FILE, get, nothing_is_there, wanted
from tests.core.hub.hub_server import Fault, HubServer


@pytest.fixture
def elsewhere() -> Iterator[HubServer]:
    """Return another host, as the hub's store of large files is."""
    server = HubServer()
    yield server
    server.stop()


@pytest.fixture
def private_process(private_hub: Hub, processes: Processes) -> Iterator[TransferProcess]:
    with processes.lend(private_hub) as process:
        yield process


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (401, {}, "not found on {host}, or private; to open your own, log in: hf auth login"),
        (403, {}, "{host} requires a token for it; log in: hf auth login"),
        (404, {}, "not found on {host}"),
        (404, {"X-Error-Code": "RevisionNotFound"}, "{host} has no such revision"),
        (404, {"X-Error-Code": "RepoNotFound"}, "not found on {host}"),
        (410, {}, "not found on {host}"),
        (416, {}, "{host} answered with status 416"),
        (418, {}, "{host} answered with status 418"),
        (
            429,
            {"Retry-After": "300"},
            "{host} received too many requests from this address; try again in 300 seconds",
        ),
        (500, {}, "{host} has a server problem (status 500); try again later"),
        (503, {"Retry-After": "x"}, "{host} has a server problem (status 503); try again later"),
    ],
)
def test_refusals_in_one_plain_line(
    server: HubServer, process: TransferProcess, status: int, headers: dict[str, str], message: str
) -> None:
    listing = wanted(server, process)
    server.fail(FILE, *[Fault(status, headers)] * 9)
    with pytest.raises(UserError) as error:
        get(process, listing)
    assert str(error.value) == f"{listing.name}: {FILE}: {message.format(host=process.hub.host)}"
    assert nothing_is_there(process, listing)


def test_a_token_that_is_not_accepted(server: HubServer, private_process: TransferProcess) -> None:
    server.add(REPO, {FILE: CONTENT})
    server.token = "another"
    with pytest.raises(UserError) as error:
        wanted(server, private_process)
    assert str(error.value) == (
        f"hf://{REPO}@main: not found on {private_process.hub.host}, or the stored token is "
        "rejected (hf auth login)"
    )


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_trouble_that_passes(server: HubServer, process: TransferProcess, status: int) -> None:
    listing = wanted(server, process)
    server.fail(FILE, Fault(status), Fault(status))
    assert get(process, listing).read_bytes() == CONTENT
    assert len(server.asked(FILE)) == 3


def test_retry_after_is_waited_for_and_told(server: HubServer, process: TransferProcess) -> None:
    listing = wanted(server, process)
    server.fail(FILE, Fault(429, {"Retry-After": "1"}))
    labels: list[str] = []
    start = time.monotonic()
    get(process, listing, lambda done, total, label: labels.append(label))
    assert time.monotonic() - start >= 1
    assert any(label.endswith("retrying in 1 s") for label in labels)


def test_retry_after_may_be_a_date(server: HubServer, process: TransferProcess) -> None:
    listing = wanted(server, process)
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=500), usegmt=True)
    server.fail(FILE, Fault(429, {"Retry-After": date}))
    with pytest.raises(UserError, match=r"try again in (4\d\d|500) seconds"):
        get(process, listing)


def test_a_redirect_elsewhere_takes_no_token_along(
    server: HubServer, private_process: TransferProcess, elsewhere: HubServer
) -> None:
    server.token = TOKEN
    listing = wanted(server, private_process)
    commit = elsewhere.add("store/it", {FILE: CONTENT})
    secret = f"{elsewhere.url}/store/it/resolve/{commit}/{FILE}?signature=sign4ture"
    server.fail(FILE, Fault(302, {"Location": secret}), Fault(302, {"Location": secret}))
    elsewhere.fail(FILE, Fault(cut=100_000))
    assert get(private_process, listing).read_bytes() == CONTENT
    assert all("authorization" not in request.headers for request in elsewhere.requests)
    assert all(request.headers["authorization"] for request in server.requests)
    # After the cut the hub was asked anew: what it redirects to is valid for a while only.
    assert len(server.asked(FILE)) == len(elsewhere.requests) == 2


def test_a_redirect_within_the_hub_takes_it_along(
    server: HubServer, private_process: TransferProcess
) -> None:
    server.token = TOKEN
    listing = wanted(server, private_process)
    commit = listing.name.revision
    server.fail(FILE, Fault(307, {"Location": f"/{REPO}/resolve/{commit}/{FILE}?again"}))
    assert get(private_process, listing).read_bytes() == CONTENT


def test_a_renamed_model_is_found_under_its_old_name(
    server: HubServer, process: TransferProcess
) -> None:
    commit = server.add("new/name", {FILE: CONTENT})
    server.fail("old/name", Fault(307, {"Location": "/api/models/new/name/revision/main"}))
    listing = get_listing(process, HubName("old/name"), lambda _nbytes, _remark: None)
    assert listing.name == HubName("old/name", commit)
    assert [request.path.partition("?")[2] for request in server.requests] == ["blobs=true"] * 2


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "redirects without an address"),
        ("http://[", "redirects without an address"),
        ("http://127.0.0.1:99999/x", "redirects without an address"),
        ("file:///etc/passwd", "redirects without an address"),
        ("ftp://127.0.0.1/x", "redirects to 127.0.0.1 without encryption; not followed"),
        ("?again", "redirects in a circle"),
    ],
)
def test_redirects_that_are_not_followed(
    server: HubServer, process: TransferProcess, location: str, message: str
) -> None:
    listing = wanted(server, process)
    server.fail(FILE, *[Fault(302, {"Location": location} if location else {})] * 9)
    with pytest.raises(UserError) as error:
        get(process, listing)
    assert str(error.value) == f"{listing.name}: {FILE}: {process.hub.host} {message}"


def test_what_is_encrypted_stays_so(process: TransferProcess) -> None:
    with pytest.raises(UserError, match=r"redirects to example\.org without encryption"):
        redirected(process.request("/x", "x"), "https://hub.example/x", "http://example.org/y")


def test_the_token_is_never_shown(
    server: HubServer, private_process: TransferProcess, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.token = TOKEN
    listing = wanted(server, private_process)
    labels: list[str] = []
    server.fail(FILE, Fault(cut=10_000), *[Fault(403)] * 2)
    with pytest.raises(UserError) as error:
        get(private_process, listing, lambda done, total, label: labels.append(label))
    told = "".join(traceback.format_exception(error.value))
    hub = private_process.hub
    for text in (told, repr(hub), str(hub), caplog.text, repr(labels)):
        assert TOKEN[3:] not in text
    assert "request it on the model's page" in str(error.value)
