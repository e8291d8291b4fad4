"""The hub as it is reached from here: its address, its cache on this disk, what requests carry."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, field

from bertviewer import __version__
from bertviewer.core.hub.pace import LIMITS, Limits
from bertviewer.core.util.errors import UserError

DEFAULT_ENDPOINT = "https://huggingface.co"
_BAD_TOKEN = "the Hugging Face token cannot be read; store it again with: hf auth login"
PATIENCE = 20.0  # seconds without a byte after which a connection counts as lost


class Hub(Struct, frozen=True):
    """Where the hub is, and where what comes from it is kept.

    Attributes:
        endpoint: its address, as the environment's ``HF_ENDPOINT`` or ``DEFAULT_ENDPOINT``.
        cache: the folder that all programs using the hub share.
        patience: seconds without a byte after which a connection counts as lost.
        headers: what every request to the endpoint carries; a person's token may be among them,
            so they are never shown, and never sent elsewhere.
        limits: how slow it may be while it does send something.
    """

    endpoint: str
    cache: Path
    patience: float = PATIENCE
    headers: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = LIMITS

    def __repr__(self) -> str:
        return f"Hub(endpoint={self.endpoint!r}, cache={self.cache!r})"  # no headers

    @property
    def host(self) -> str:
        """The endpoint's host, for messages."""
        return urlsplit(self.endpoint).netloc.rpartition("@")[2]

    @property
    def has_token(self) -> bool:
        """Whether a token of the person's goes along."""
        return any(name.lower() == "authorization" for name in self.headers)

    def headers_for(self, url: str) -> dict[str, str]:
        """Return the headers of a request: the token goes to the endpoint and nowhere else."""
        headers = {"accept-encoding": "identity"}
        if _origin(url) == _origin(self.endpoint):
            headers |= self.headers
        elif agent := self.headers.get("user-agent"):
            headers["user-agent"] = agent
        return headers


def connect() -> Hub:
    """Return the hub that this machine is set up for; nothing is sent yet.

    Raises:
        UserError: ``HF_ENDPOINT`` is no address, or the stored token cannot be read.
    """
    from huggingface_hub import constants, get_token

    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or DEFAULT_ENDPOINT
    try:
        address = urlsplit(endpoint)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(endpoint)
        _origin(endpoint)
    except ValueError as error:
        raise UserError("HF_ENDPOINT is not a valid Hub address") from error
    headers = {"user-agent": f"bertviewer/{__version__}"}
    try:
        token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    except Exception as error:
        # Many things can go wrong with a token, and their texts may hold it.
        raise UserError(_BAD_TOKEN) from error
    if token is not None and not (token.isascii() and token.isprintable()):
        raise UserError(_BAD_TOKEN)
    if token:
        headers["authorization"] = f"Bearer {token}"
    return Hub(endpoint, cache_folder(), headers=headers)


def cache_folder() -> Path:
    """Return the folder of the hub's cache on this machine, whether it exists or not."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default
