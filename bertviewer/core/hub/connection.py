"""Address, cache folder and credentials of the Hub that this machine is configured for."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, field

from bertviewer import __version__
from bertviewer.core.util.errors import UserError

DEFAULT_ENDPOINT = "https://huggingface.co"
_BAD_TOKEN = "the Hugging Face token cannot be read; store it again with: hf auth login"


class TransferLimits(Struct, frozen=True):
    """How slow a server may be.

    Attributes:
        silence: seconds without a byte after which a connection counts as lost.
        window: seconds over which the rate is measured.
        least_rate: minimum average rate over a window, in bytes per second.
        overall: seconds that a request may take in addition to the time that its bytes take at
            the minimum rate; pauses that the server asks for count.
        first_pause: seconds before the first retry; each further one takes twice as long.
    """

    silence: float = 20.0
    window: float = 30.0
    least_rate: float = 1000.0
    overall: float = 600.0
    first_pause: float = 0.5


class Hub(Struct, frozen=True):
    """Where the Hub is, and where downloaded files are kept.

    Attributes:
        endpoint: its address: the environment's ``HF_ENDPOINT`` or ``DEFAULT_ENDPOINT``.
        cache: the folder that all programs using the Hub share.
        headers: what every request to the endpoint carries; a token may be among them, so they
            are never shown, and never sent elsewhere.
        limits: how slow it may be.
    """

    endpoint: str
    cache: Path
    headers: Mapping[str, str] = field(default_factory=dict)
    limits: TransferLimits = TransferLimits()

    def __repr__(self) -> str:
        return f"Hub(endpoint={self.endpoint!r}, cache={self.cache!r})"  # no headers

    @property
    def host(self) -> str:
        """The endpoint's host, for messages."""
        return host_of(self.endpoint)


def host_of(endpoint: str) -> str:
    """Return the host and port of an address, for messages."""
    return urlsplit(endpoint).netloc.rpartition("@")[2]


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Return the scheme, host and port of a URL.

    Raises:
        ValueError: the port is not a number below 65536.
    """
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default


def connect() -> Hub:
    """Return the Hub that this machine is configured for; nothing is sent yet.

    Raises:
        UserError: ``HF_ENDPOINT`` is not an address, or the stored token cannot be read.
    """
    from huggingface_hub import constants, get_token

    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or DEFAULT_ENDPOINT
    try:
        address = urlsplit(endpoint)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(endpoint)
        origin(endpoint)
    except ValueError as error:
        raise UserError("HF_ENDPOINT is not a valid Hub address") from error
    headers = {"user-agent": f"bertviewer/{__version__}"}
    try:
        token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    except Exception as error:
        # Many things can go wrong with a token, and their texts may contain it.
        raise UserError(_BAD_TOKEN) from error
    if token is not None and not (token.isascii() and token.isprintable()):
        raise UserError(_BAD_TOKEN)
    if token:
        headers["authorization"] = f"Bearer {token}"
    return Hub(endpoint, hub_cache_folder(), headers)


def hub_cache_folder() -> Path:
    """Return the folder of the Hub's cache on this machine, whether it exists or not."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)
