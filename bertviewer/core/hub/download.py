"""Downloads a file into the hub's cache: all of it and the right one, or nothing."""

import hashlib
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

from bertviewer.core.errors import UserError
from bertviewer.core.hub.cache import link, repository, snapshot
from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.listing import Listing, RemoteFile
from bertviewer.core.hub.meter import Meter
from bertviewer.core.hub.requests import read_bytes, remote_file

_SUFFIX = ".bertviewer.incomplete"
_BLOCK = 1 << 20


def download(hub: Hub, listing: Listing, file: RemoteFile, meter: Meter) -> Path:
    """Have a file in the snapshot, and return where; what an earlier try left is gone on with.

    Raises:
        Cancelled: the person asked to stop; what has come is kept for the next try.
        UserError: the file cannot be had, or not written.
    """
    place = snapshot(hub.cache, listing.name) / file.name
    if place.is_file():
        meter.skip(file.nbytes)
        return place
    folder = repository(hub.cache, listing.name.repo)
    blob = folder / "blobs" / file.digest
    try:
        blob.parent.mkdir(parents=True, exist_ok=True)
        with _locked(hub, folder.name, file, meter):
            if blob.is_file() and blob.stat().st_size == file.nbytes:
                meter.skip(file.nbytes)
            elif not place.is_file():
                _fetch(hub, listing, file, blob, meter)
            if not place.is_file():
                link(blob, place)
    except OSError as error:
        raise UserError(f"cannot write {blob}: {error.strerror or error}") from error
    return place


def _fetch(hub: Hub, listing: Listing, file: RemoteFile, blob: Path, meter: Meter) -> None:
    part, asked = blob.with_name(blob.name + _SUFFIX), remote_file(hub, listing.name, file)
    digest, at = _begun(file, part, meter)
    free = shutil.disk_usage(blob.parent).free
    if free < file.nbytes - at:
        raise UserError(
            f"{asked.what}: {(file.nbytes - at) / 1e6:,.0f} MB are to come, and the disk has only "
            f"{free / 1e6:,.0f} MB left"
        )
    if at < file.nbytes:
        with (
            part.open("ab") as written,
            closing(read_bytes(asked, meter.tick, at, nbytes=file.nbytes - at)) as chunks,
        ):
            for chunk in chunks:
                at += len(chunk)
                if at > file.nbytes:
                    break
                written.write(chunk)
                digest.update(chunk)
                meter.add(len(chunk))
            written.flush()
            os.fsync(written.fileno())
    if at != file.nbytes or digest.hexdigest() != file.digest:
        part.unlink()
        raise asked.error("sends something else than the file that it announced")
    part.replace(blob)


def _begun(file: RemoteFile, part: Path, meter: Meter) -> tuple[Any, int]:
    """Return the digest of what an earlier try left, and how many bytes that is."""
    # git's SHA-1 is of the size and the content, a large file's SHA-256 of the content alone.
    is_large = len(file.digest) == 64
    digest = hashlib.sha256() if is_large else hashlib.sha1(b"blob %d\0" % file.nbytes)
    at = 0
    if part.is_file() and part.stat().st_size > file.nbytes:
        part.unlink()
    if part.is_file():
        with part.open("rb") as left:
            while block := left.read(_BLOCK):
                digest.update(block)
                at += len(block)
                meter.tick("reading what is here already")
    meter.skip(at)
    return digest, at


class _Lock:
    """One program at a time writes a file; huggingface_hub's own lock, waited for with ticks."""

    def __init__(self, path: Path, meter: Meter) -> None:
        from filelock import FileLock

        self._lock = FileLock(path)
        self._meter = meter

    def __enter__(self) -> None:
        from filelock import Timeout

        while True:
            try:
                self._lock.acquire(timeout=0.1)
            except Timeout:
                self._meter.tick("another program is downloading it")
            else:
                return

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _locked(hub: Hub, folder: str, file: RemoteFile, meter: Meter) -> _Lock:
    path = hub.cache / ".locks" / folder / f"{file.digest}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return _Lock(path, meter)
