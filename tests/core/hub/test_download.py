"""Downloads into the cache: cancelling, progress, locks, and disks without room."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from bertviewer.core.hub import download as downloading
from bertviewer.core.hub.cache import repository, snapshot
from bertviewer.core.hub.download import KIB, DownloadProgress, download, get_listing
from bertviewer.core.hub.listing import Listing
from bertviewer.core.hub.transfers import TransferProcess, transfer_process
from bertviewer.core.sources.model_source import HubName
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.hub.conftest import CONTENT, FILE, REPO
from tests.core.hub.hub_server import CHUNK, Fault, HubServer


class Download(Struct):
    """Files on the server, of which some can be downloaded by a process."""

    server: HubServer
    process: TransferProcess
    listing: Listing

    def get(
        self,
        progress: Progress = no_progress,
        name: str = FILE,
        process: TransferProcess | None = None,
    ) -> Path:
        file = self.listing.files[name]
        reporter = DownloadProgress(progress, file.nbytes)
        return download(process or self.process, self.listing, file, reporter)


@pytest.fixture
def setup(server: HubServer, process: TransferProcess) -> Download:
    server.add(REPO, {FILE: CONTENT, "vocab.txt": b"[UNK]\n"})
    listing = get_listing(process, HubName(REPO), lambda _nbytes, _remark: None)
    return Download(server, process, listing)


def test_large_and_small_files_are_downloaded_once(setup: Download) -> None:
    for name, content in ((FILE, CONTENT), ("vocab.txt", b"[UNK]\n")):
        for _ in range(2):
            path = setup.get(name=name)
            assert path == snapshot(setup.process.hub.cache, setup.listing.name) / name
            assert path.read_bytes() == content
        assert path.is_symlink()
        assert len(setup.server.asked(name)) == 1


@pytest.mark.parametrize("fault", [Fault(held=50_000), Fault(silent=True)], ids=["part", "nothing"])
def test_cancelling_keeps_what_was_downloaded(setup: Download, fault: Fault) -> None:
    setup.server.fail(FILE, fault)
    received = (fault.held or 0) // CHUNK * CHUNK
    ticks = 0

    def cancel(done: int, total: int, label: str) -> None:
        nonlocal ticks
        ticks += bool(setup.server.asked(FILE)) and done * KIB == received
        if ticks == 3:
            raise Cancelled

    with transfer_process(setup.process.hub) as cancelled, pytest.raises(Cancelled):
        setup.get(cancel, process=cancelled)
    assert (
        len(setup.server.asked(FILE)) == 1
    )  # it did not wait until the connection counted as lost
    [part] = repository(setup.process.hub.cache, REPO).glob("blobs/*.incomplete")
    assert part.stat().st_size == received
    assert setup.get().read_bytes() == CONTENT


def test_progress_has_bytes_and_speed(setup: Download, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "SPEED_WINDOW", 600.0)  # the average of all
    setup.server.fail(FILE, Fault(pause=0.05))
    steps: list[tuple[int, int, str]] = []
    setup.get(lambda done, total, label: steps.append((done, total, label)))
    assert steps[-1][:2] == (256, 256)
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    # 16 chunks of 16,384 bytes, one in 50 ms: 0.33 MB/s at most.
    speeds = [label.rpartition(", ")[2] for _, _, label in steps if label.endswith("MB/s")]
    assert speeds
    assert 0 < float(speeds[-1].partition(" ")[0]) <= CHUNK / 0.05 / 1e6 + 0.1


def test_two_downloads_of_one_file_take_turns(setup: Download) -> None:
    setup.server.fail(FILE, Fault(pause=0.02))
    paths: list[Path] = []
    with transfer_process(setup.process.hub) as another:
        thread = threading.Thread(target=lambda: paths.append(setup.get(process=another)))
        thread.start()
        paths.append(setup.get())
        thread.join()
    assert len(set(paths)) == 1
    assert paths[0].read_bytes() == CONTENT
    assert len(setup.server.asked(FILE)) == 1


def test_a_disk_without_room_is_noticed_before(
    setup: Download, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 1000})()
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    with pytest.raises(UserError, match="0 MB must be downloaded, but the disk has only 0 MB left"):
        setup.get()
    assert not setup.server.asked(FILE)


def create_read_only(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o500)


READ_ONLY = pytest.param(
    create_read_only,
    marks=pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere"),
)


@pytest.mark.parametrize("create", [lambda cache: cache.write_bytes(b""), READ_ONLY])
def test_a_cache_that_cannot_be_written_is_reported(
    setup: Download, create: Callable[[Path], object]
) -> None:
    create(setup.process.hub.cache)
    message = r"cannot write .*: (Not a directory|File exists|Permission denied)"
    with pytest.raises(UserError, match=message):
        setup.get()


def test_without_links_the_snapshot_has_the_file(
    setup: Download, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("links are not supported")

    monkeypatch.setattr(Path, "symlink_to", fail)
    for _ in range(2):
        path = setup.get()
        assert not path.is_symlink()
        assert path.read_bytes() == CONTENT
        assert len(setup.server.asked(FILE)) == 1
