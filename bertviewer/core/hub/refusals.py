"""What the hub's refusals mean, each in one plain line."""

import email.utils
import time
from collections.abc import Mapping

from bertviewer.core.hub.connection import Hub
from bertviewer.core.util.errors import UserError

RETRIED = (408, 429, 500, 502, 503, 504)
"""Statuses that say: try again later."""

LOGIN = "hf auth login"


class Unreachable(UserError):
    """No connection to the hub: what is in its cache can still be opened."""


def refusal(hub: Hub, what: str, status: int, headers: Mapping[str, str]) -> UserError:
    """Return the error for an answer that is none; ``what`` names what was asked for."""
    code = headers.get("x-error-code", "")
    if status == 401:
        if hub.has_token:
            text = f"not found on {hub.host}, or the stored token is rejected ({LOGIN})"
        else:
            text = f"not found on {hub.host}, or private; to open your own, log in: {LOGIN}"
    elif status == 403 or code == "GatedRepo":
        text = (
            f"{hub.host} denies access; request it on the model's page"
            if hub.has_token
            else f"{hub.host} requires a token for it; log in: {LOGIN}"
        )
    elif status == 404 and code == "RevisionNotFound":
        text = f"{hub.host} has no such revision"
    elif status in (404, 410):
        text = f"not found on {hub.host}"
    elif status == 429:
        seconds = retry_after(headers)
        later = "later" if seconds is None else f"in {seconds:.0f} seconds"
        text = f"{hub.host} received too many requests from this address; try again {later}"
    elif status >= 500:
        text = f"{hub.host} has a server problem (status {status}); try again later"
    else:
        text = f"{hub.host} answered with status {status}"
    return UserError(f"{what}: {text}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that ``Retry-After`` asks to wait; it may be a number or a date."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
