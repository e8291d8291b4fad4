"""One file on the hub, and how a test gets it."""

from pathlib import Path

from bertviewer.core.hub import requests
from bertviewer.core.hub.cache import snapshot
from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.download import download
from bertviewer.core.hub.listing import Listing
from bertviewer.core.hub.meter import Meter
from bertviewer.core.sources.hub_name import HubName
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.hub.conftest import REPO
from tests.core.hub.hub_server import HubServer

FILE = "model.safetensors"
CONTENT = bytes(range(256)) * 1024
"""256 KiB, so 16 chunks of the server's."""


def wanted(server: HubServer, hub: Hub) -> Listing:
    server.add(REPO, {FILE: CONTENT, "vocab.txt": b"[UNK]\n"})
    return requests.get_listing(hub, HubName(REPO), lambda _remark: None)


def get(hub: Hub, listing: Listing, progress: Progress = no_progress) -> Path:
    file = listing.files[FILE]
    meter = Meter(progress, file.nbytes)
    meter.begin("Downloading")
    return download(hub, listing, file, meter)


def nothing_is_there(hub: Hub, listing: Listing) -> bool:
    return not (snapshot(hub.cache, listing.name) / FILE).exists()
