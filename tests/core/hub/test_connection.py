"""The configured Hub, and its token, which is sent to the Hub only and never shown."""

import traceback

import pytest

from bertviewer.core.hub.connection import connect
from bertviewer.core.hub.transfers import Request
from bertviewer.core.hub.worker import headers_for
from bertviewer.core.util.errors import UserError
from tests.core.hub.conftest import TOKEN


def test_the_environment_has_endpoint_and_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1/")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub = connect()
    assert hub.endpoint == "http://127.0.0.1:1"
    assert TOKEN not in repr(hub)
    request = Request(hub.endpoint, hub.headers, hub.limits, "/x", "x")
    assert headers_for(request, "http://127.0.0.1:1/x")["authorization"] == f"Bearer {TOKEN}"
    for other in ("http://127.0.0.1:2/x", "https://127.0.0.1:1/x", "http://localhost:1/x"):
        assert TOKEN not in repr(headers_for(request, other))
    monkeypatch.delenv("HF_ENDPOINT")
    assert connect().endpoint == "https://huggingface.co"


def test_invalid_endpoints_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for endpoint in ("ftp://example.org", "example.org", "http://", "http://[", "http://x:y"):
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        with pytest.raises(UserError, match="HF_ENDPOINT is not a valid Hub address"):
            connect()


def test_a_token_that_no_header_can_carry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_naïve")
    with pytest.raises(UserError, match="Hugging Face token cannot be read") as error:
        connect()
    assert "naïve" not in "".join(traceback.format_exception(error.value))
