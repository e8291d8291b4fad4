"""Downloads that are cut, slow, wrong, or stopped by the person."""

import hashlib
import os
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.hub import download as downloading
from bertviewer.core.hub.cache import repository
from bertviewer.core.hub.download import KIB, DownloadProgress, download
from bertviewer.core.hub.transfers import TransferProcess, transfer_process
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import no_progress
from tests.core.hub.conftest import REPO
from tests.core.hub.files import CONTENT, FILE, get, nothing_is_there, wanted
from tests.core.hub.hub_server import CHUNK, Fault, HubServer, digest_of


def part(process: TransferProcess) -> Path:
    [found] = repository(process.hub.cache, REPO).glob("blobs/*.incomplete")
    return found


def test_cut_again_and_again_it_goes_on_where_it_was(
    server: HubServer, process: TransferProcess
) -> None:
    listing = wanted(server, process)
    # Seven cuts, more than the tries in a row: each brings something.
    server.fail(FILE, *[Fault(cut=30_000)] * 7)
    assert get(process, listing).read_bytes() == CONTENT
    ranges = [request.headers.get("range", "") for request in server.asked(FILE)]
    starts = [int(text.removeprefix("bytes=").partition("-")[0] or 0) for text in ranges if text]
    assert len(ranges) == 8
    assert starts == sorted(set(starts))
    assert starts[0] > 0


def test_cut_with_nothing_new_it_ends_and_keeps_what_came(
    server: HubServer, process: TransferProcess
) -> None:
    listing = wanted(server, process)
    server.fail(FILE, Fault(cut=100_000), *[Fault(cut=0)] * 9)
    with pytest.raises(UserError) as error:
        get(process, listing)
    assert str(error.value) == (
        f"{listing.name}: {FILE}: the connection to {process.hub.host} keeps breaking off; what "
        "was downloaded is kept, and the next attempt resumes there"
    )
    assert nothing_is_there(process, listing)
    kept = part(process).stat().st_size
    assert 0 < kept <= 100_000
    server.faults.clear()
    server.requests.clear()
    assert get(process, listing).read_bytes() == CONTENT
    assert [request.headers["range"] for request in server.requests] == [f"bytes={kept}-"]


def test_a_server_that_starts_anew_after_a_cut(server: HubServer, process: TransferProcess) -> None:
    listing = wanted(server, process)
    server.fail(FILE, Fault(cut=100_000), Fault(ignores_range=True))
    assert get(process, listing).read_bytes() == CONTENT


def test_a_server_that_falls_silent(server: HubServer, process: TransferProcess) -> None:
    listing = wanted(server, process)
    process.hub = replace(process.hub, limits=replace(process.hub.limits, silence=1.0))
    server.fail(FILE, Fault(silent=True))
    assert get(process, listing).read_bytes() == CONTENT


@pytest.mark.parametrize("fault", [Fault(held=50_000), Fault(silent=True)], ids=["part", "nothing"])
def test_cancel_is_heard_while_nothing_comes(
    server: HubServer, process: TransferProcess, fault: Fault
) -> None:
    listing = wanted(server, process)
    server.fail(FILE, fault)
    comes = (fault.held or 0) // CHUNK * CHUNK
    ticks = 0

    def cancel(done: int, total: int, label: str) -> None:
        nonlocal ticks
        ticks += bool(server.asked(FILE)) and done * KIB == comes
        if ticks == 3:
            raise Cancelled

    with transfer_process(process.hub) as cancelled, pytest.raises(Cancelled):
        get(cancelled, listing, cancel)
    # Whoever waits until the connection counts as lost asks once more.
    assert len(server.asked(FILE)) == 1
    assert nothing_is_there(process, listing)
    assert part(process).stat().st_size == comes
    assert get(process, listing).read_bytes() == CONTENT


def test_the_label_tells_bytes_and_speed(
    server: HubServer, process: TransferProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The speed since the beginning: of a part, all may come at once after a wait.
    monkeypatch.setattr(downloading, "SPEED_WINDOW", 600.0)
    listing = wanted(server, process)
    server.fail(FILE, Fault(pause=0.05))
    steps: list[tuple[int, int, str]] = []
    get(process, listing, lambda done, total, label: steps.append((done, total, label)))
    assert steps[-1][:2] == (256, 256)
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    # 16 chunks of 16,384 bytes, one in 50 ms: 0.33 MB/s at most.
    speeds = [label.rpartition(", ")[2] for _, _, label in steps if label.endswith("MB/s")]
    assert speeds
    assert 0 < float(speeds[-1].partition(" ")[0]) <= CHUNK / 0.05 / 1e6 + 0.1


@pytest.mark.parametrize(
    "content",
    [CONTENT[:-1], CONTENT + b"x", CONTENT[:-1] + b"x", b"<html>log in</html>", b""],
    ids=["short", "long", "wrong", "page", "empty"],
)
def test_what_is_not_the_file_is_thrown_away(
    server: HubServer, process: TransferProcess, content: bytes
) -> None:
    listing = wanted(server, process)
    server.fail(FILE, Fault(content=content))
    with pytest.raises(UserError) as error:
        get(process, listing)
    assert str(error.value).endswith(
        f"{FILE}: {process.hub.host} sent a different file from the one it announced"
    )
    assert nothing_is_there(process, listing)
    assert get(process, listing).read_bytes() == CONTENT


@pytest.mark.parametrize("left", [b"something else", CONTENT + b"too long", CONTENT])
def test_what_an_earlier_try_left_is_not_believed(
    server: HubServer, process: TransferProcess, left: bytes
) -> None:
    listing = wanted(server, process)
    blobs = repository(process.hub.cache, REPO) / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{digest_of(FILE, CONTENT)}.bertviewer.incomplete").write_bytes(left)
    if left == b"something else":
        with pytest.raises(UserError, match="a different file from the one"):
            get(process, listing)
    assert get(process, listing).read_bytes() == CONTENT
    assert bool(server.asked(FILE)) == (left != CONTENT)


def test_a_compressed_answer_is_refused(server: HubServer, process: TransferProcess) -> None:
    listing = wanted(server, process)
    server.fail(FILE, Fault(200, {"Content-Encoding": "gzip"}))
    with pytest.raises(UserError, match="sent compressed data"):
        get(process, listing)


def test_two_downloads_of_one_file_take_turns(server: HubServer, process: TransferProcess) -> None:
    listing = wanted(server, process)
    server.fail(FILE, Fault(pause=0.02))
    places: list[Path] = []
    with transfer_process(process.hub) as another:
        other = threading.Thread(target=lambda: places.append(get(another, listing)))
        other.start()
        places.append(get(process, listing))
        other.join()
    assert len(set(places)) == 1
    assert places[0].read_bytes() == CONTENT
    assert len(server.asked(FILE)) == 1


def test_a_disk_without_room(
    server: HubServer, process: TransferProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = wanted(server, process)
    monkeypatch.setattr(
        "bertviewer.core.hub.download.shutil.disk_usage",
        lambda _path: type("Usage", (), {"free": 1000})(),
    )
    with pytest.raises(UserError, match="0 MB must be downloaded, but the disk has only 0 MB left"):
        get(process, listing)
    assert not server.asked(FILE)


def test_a_disk_that_fills_up(server: HubServer, process: TransferProcess) -> None:
    import resource

    listing = wanted(server, process)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with (
            transfer_process(process.hub) as limited,
            pytest.raises(UserError, match=r"cannot write .*: File too large"),
        ):
            get(limited, listing)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert nothing_is_there(process, listing)
    assert get(process, listing).read_bytes() == CONTENT


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_cache_that_cannot_be_written(server: HubServer, process: TransferProcess) -> None:
    listing = wanted(server, process)
    process.hub.cache.mkdir()
    process.hub.cache.chmod(0o500)
    with pytest.raises(UserError, match=r"cannot write .*: Permission denied"):
        get(process, listing)


def test_a_cache_that_is_a_file(server: HubServer, process: TransferProcess) -> None:
    listing = wanted(server, process)
    process.hub.cache.write_bytes(b"")
    with pytest.raises(UserError, match=r"cannot write .*: (Not a directory|File exists)"):
        get(process, listing)


def test_without_links_the_file_itself_lies_in_the_snapshot(
    server: HubServer, process: TransferProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    listing = wanted(server, process)
    place = get(process, listing)
    assert not place.is_symlink()
    assert place.read_bytes() == CONTENT
    asked = len(server.asked(FILE))
    assert get(process, listing) == place
    assert len(server.asked(FILE)) == asked


def test_the_digest_of_a_small_file_is_gits(server: HubServer, process: TransferProcess) -> None:
    # What `git hash-object` says of a file with the line "hello".
    assert digest_of("x.txt", b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert digest_of(FILE, b"hello\n") == hashlib.sha256(b"hello\n").hexdigest()
    listing = wanted(server, process)
    file = listing.files["vocab.txt"]
    assert (
        download(process, listing, file, DownloadProgress(no_progress, 0)).read_bytes()
        == b"[UNK]\n"
    )
