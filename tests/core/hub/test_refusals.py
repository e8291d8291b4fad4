"""Refusals, trouble that passes, and redirects; the token goes to the hub and nowhere else."""

import logging
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from bertviewer.core.hub import requests
from bertviewer.core.hub.connection import Hub
from bertviewer.core.sources.hub_name import HubName
from bertviewer.core.util.errors import UserError
from tests.core.hub.conftest import REPO, TOKEN
from tests.core.hub.files import CONTENT, FILE, get, nothing_is_there, wanted
from tests.core.hub.hub_server import Fault, HubServer


@pytest.fixture
def elsewhere() -> Iterator[HubServer]:
    """Return another host, as the hub's store of large files is."""
    server = HubServer()
    yield server
    server.stop()


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
    server: HubServer, hub: Hub, status: int, headers: dict[str, str], message: str
) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, *[Fault(status, headers)] * 9)
    with pytest.raises(UserError) as error:
        get(hub, listing)
    assert str(error.value) == f"{listing.name}: {FILE}: {message.format(host=hub.host)}"
    assert nothing_is_there(hub, listing)


def test_a_token_that_is_not_accepted(server: HubServer, private_hub: Hub) -> None:
    server.add(REPO, {FILE: CONTENT})
    server.token = "another"
    with pytest.raises(UserError) as error:
        wanted(server, private_hub)
    assert str(error.value) == (
        f"hf://{REPO}@main: not found on {private_hub.host}, or the stored token is "
        "rejected (hf auth login)"
    )


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_trouble_that_passes(server: HubServer, hub: Hub, status: int) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, Fault(status), Fault(status))
    assert get(hub, listing).read_bytes() == CONTENT
    assert len(server.asked(FILE)) == 3


def test_retry_after_is_waited_for_and_told(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, Fault(429, {"Retry-After": "1"}))
    labels: list[str] = []
    start = time.monotonic()
    get(hub, listing, lambda done, total, label: labels.append(label))
    assert time.monotonic() - start >= 1
    assert any(label.endswith("retrying in 1 s") for label in labels)


def test_retry_after_may_be_a_date(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=500), usegmt=True)
    server.fail(FILE, Fault(429, {"Retry-After": date}))
    with pytest.raises(UserError, match=r"try again in (4\d\d|500) seconds"):
        get(hub, listing)


def test_a_redirect_elsewhere_takes_no_token_along(
    server: HubServer, private_hub: Hub, elsewhere: HubServer
) -> None:
    server.token = TOKEN
    listing = wanted(server, private_hub)
    commit = elsewhere.add("store/it", {FILE: CONTENT})
    secret = f"{elsewhere.url}/store/it/resolve/{commit}/{FILE}?signature=sign4ture"
    server.fail(FILE, Fault(302, {"Location": secret}), Fault(302, {"Location": secret}))
    elsewhere.fail(FILE, Fault(cut=100_000))
    assert get(private_hub, listing).read_bytes() == CONTENT
    assert all("authorization" not in request.headers for request in elsewhere.requests)
    assert all(request.headers["authorization"] for request in server.requests)
    # After the cut the hub was asked anew: what it redirects to is valid for a while only.
    assert len(server.asked(FILE)) == len(elsewhere.requests) == 2


def test_a_redirect_within_the_hub_takes_it_along(server: HubServer, private_hub: Hub) -> None:
    server.token = TOKEN
    listing = wanted(server, private_hub)
    commit = listing.name.revision
    server.fail(FILE, Fault(307, {"Location": f"/{REPO}/resolve/{commit}/{FILE}?again"}))
    assert get(private_hub, listing).read_bytes() == CONTENT


def test_a_renamed_model_is_found_under_its_old_name(server: HubServer, hub: Hub) -> None:
    commit = server.add("new/name", {FILE: CONTENT})
    server.fail("old/name", Fault(307, {"Location": "/api/models/new/name/revision/main"}))
    listing = requests.get_listing(hub, HubName("old/name"), lambda _remark: None)
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
    server: HubServer, hub: Hub, location: str, message: str
) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, *[Fault(302, {"Location": location} if location else {})] * 9)
    with pytest.raises(UserError) as error:
        get(hub, listing)
    assert str(error.value) == f"{listing.name}: {FILE}: {hub.host} {message}"


def test_what_is_encrypted_stays_so(hub: Hub) -> None:
    with pytest.raises(UserError, match=r"redirects to example\.org without encryption"):
        requests.redirected(
            requests.Resource(hub, "/x", "x"), "https://hub.example/x", "http://example.org/y"
        )


def test_the_token_is_never_shown(
    server: HubServer, private_hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.token = TOKEN
    listing = wanted(server, private_hub)
    labels: list[str] = []
    server.fail(FILE, Fault(cut=10_000), *[Fault(403)] * 2)
    with pytest.raises(UserError) as error:
        get(private_hub, listing, lambda done, total, label: labels.append(label))
    told = "".join(traceback.format_exception(error.value))
    for text in (told, repr(private_hub), str(private_hub), caplog.text, repr(labels)):
        assert TOKEN not in text
        assert TOKEN[3:] not in text
    assert caplog.text  # the client did log
    assert "request it on the model's page" in str(error.value)
