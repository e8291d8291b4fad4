"""Downloading from the Hub into its cache on this disk: a complete and correct file, or nothing."""

import shutil
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from msgspec.structs import replace

from bertviewer.core.hub.cache import link, repository, snapshot
from bertviewer.core.hub.listing import Listing, RemoteFile, read_listing
from bertviewer.core.hub.transfers import (
    MAX_DESCRIPTION,
    PART_SUFFIX,
    POLL,
    Request,
    Tick,
    TransferProcess,
)
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.serialization import parse

SPEED_WINDOW = 3.0  # seconds over which the speed is averaged
KIB = 1024  # progress is in KiB: the integers of Qt's signals end at 2^31


def get_listing(process: TransferProcess, name: HubName, tick: Tick) -> Listing:
    """Ask which commit a revision is, and which files it has.

    Raises:
        Unreachable: there is no connection.
        UserError: there is no such model, access is denied, or the answer is not valid.
    """
    path = f"/api/models/{name.repo}/revision/{quote(name.revision, safe='')}?blobs=true"
    raw = process.read(process.request(path, str(name)), tick)
    if len(raw) > MAX_DESCRIPTION:
        raise UserError(f"{name}: {process.hub.host} sent far too long a description")
    try:
        data = parse(raw)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: {process.hub.host} does not answer like a model hub") from error
    return read_listing(name, data)


def file_request(process: TransferProcess, name: HubName, file: RemoteFile) -> Request:
    """Return the request for all of a file of a model at a commit."""
    path = f"/{name.repo}/resolve/{name.revision}/{quote(file.name)}"
    return process.request(path, f"{name}: {file.name}")


def download(
    process: TransferProcess, listing: Listing, file: RemoteFile, progress: "DownloadProgress"
) -> Path:
    """Download a file into the snapshot, unless it is there, and return its path.

    What an earlier try downloaded is used.

    Raises:
        Cancelled: by ``progress``; what was downloaded is kept for the next try.
        UserError: the file cannot be downloaded or written.
    """
    cache = process.hub.cache
    path = snapshot(cache, listing.name) / file.name
    if path.is_file():
        progress.skip(file.nbytes)
        return path
    folder = repository(cache, listing.name.repo)
    blob = folder / "blobs" / file.digest
    try:
        blob.parent.mkdir(parents=True, exist_ok=True)
        with _locked(cache / ".locks" / folder.name / f"{file.digest}.lock", progress):
            if blob.is_file() and blob.stat().st_size == file.nbytes:
                progress.skip(file.nbytes)
            elif not path.is_file():
                request = file_request(process, listing.name, file)
                _download(process, request, file, blob, progress)
            if not path.is_file():
                link(blob, path)
    except OSError as error:
        raise UserError(f"cannot write {blob}: {error_reason(error)}") from error
    return path


def _download(
    process: TransferProcess,
    request: Request,
    file: RemoteFile,
    blob: Path,
    progress: "DownloadProgress",
) -> None:
    part = blob.with_name(blob.name + PART_SUFFIX)
    present = part.stat().st_size if part.is_file() else 0
    missing = file.nbytes - present
    free = shutil.disk_usage(blob.parent).free
    if free < missing:
        raise UserError(
            f"{request.name}: {missing / 1e6:,.0f} MB must be downloaded, but the disk has only "
            f"{free / 1e6:,.0f} MB left"
        )
    progress.skip(present)
    process.download(replace(request, nbytes=file.nbytes, digest=file.digest), part, progress.tick)
    part.replace(blob)


@contextmanager
def _locked(path: Path, progress: "DownloadProgress") -> Iterator[None]:
    """Let one program at a time write a file, by huggingface_hub's lock; wait with progress."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=POLL)
            break
        except Timeout:
            progress.tick(0, "another program is downloading it")
    try:
        yield
    finally:
        lock.release()


class DownloadProgress:
    """Reports the progress of a download of several files: bytes and speed.

    Args:
        progress: called with KiB.
        total: size of all files in bytes.
    """

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._samples: deque[tuple[float, int]] = deque()
        self.label = ""
        """What is being downloaded."""

    def skip(self, nbytes: int) -> None:
        """Count bytes that were on the disk already: they say nothing about the speed."""
        self._done += nbytes
        self._samples.clear()

    def tick(self, nbytes: int, remark: str) -> None:
        """Count bytes that came, and report.

        Raises:
            Cancelled: by ``progress``.
        """
        self._done += nbytes
        now = time.monotonic()
        self._samples.append((now, self._done))
        while now - self._samples[0][0] > SPEED_WINDOW:
            self._samples.popleft()
        text = f"{_megabytes(self._done)} of {_megabytes(self._total)} MB"
        seconds, received = now - self._samples[0][0], self._done - self._samples[0][1]
        if remark:
            text += f", {remark}"
        elif seconds > 0.2:
            text += f", {_megabytes(received / seconds)} MB/s"
        total = max(1, self._total // KIB)
        self._progress(self._done // KIB, total, f"{self.label}: {text}")


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 1e6:,.1f}"
