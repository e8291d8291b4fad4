"""One file on the hub, and how a test downloads it."""

from pathlib import Path

from bertviewer.core.hub.cache import snapshot
from bertviewer.core.hub.download import DownloadProgress, download, get_listing
from bertviewer.core.hub.listing import Listing
from bertviewer.core.hub.transfers import TransferProcess
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.hub.conftest import REPO
from tests.core.hub.hub_server import HubServer

FILE = "model.safetensors"
CONTENT = bytes(range(256)) * 1024
"""256 KiB, so 16 chunks of the server's."""


def wanted(server: HubServer, process: TransferProcess) -> Listing:
    server.add(REPO, {FILE: CONTENT, "vocab.txt": b"[UNK]\n"})
    return get_listing(process, HubName(REPO), lambda _nbytes, _remark: None)


def get(process: TransferProcess, listing: Listing, progress: Progress = no_progress) -> Path:
    file = listing.files[FILE]
    downloaded = DownloadProgress(progress, file.nbytes)
    downloaded.label = "Downloading"
    return download(process, listing, file, downloaded)


def nothing_is_there(process: TransferProcess, listing: Listing) -> bool:
    return not (snapshot(process.hub.cache, listing.name) / FILE).exists()
