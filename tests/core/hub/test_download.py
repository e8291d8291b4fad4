"""Downloads that are cut, slow, wrong, or stopped by the person."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from bertviewer.core.hub import meter
from bertviewer.core.hub.cache import repository
from bertviewer.core.hub.connection import Hub
from bertviewer.core.hub.download import download
from bertviewer.core.hub.meter import UNIT, Meter
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import no_progress
from tests.core.hub.conftest import REPO
from tests.core.hub.files import CONTENT, FILE, get, nothing_is_there, wanted
from tests.core.hub.hub_server import CHUNK, Fault, HubServer, digest_of
from tests.patient_bot import PATIENCE


def part(hub: Hub) -> Path:
    [found] = repository(hub.cache, REPO).glob("blobs/*.incomplete")
    return found


def test_cut_again_and_again_it_goes_on_where_it_was(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    # Seven cuts, more than the tries in a row: each brings something.
    server.fail(FILE, *[Fault(cut=30_000)] * 7)
    assert get(hub, listing).read_bytes() == CONTENT
    ranges = [request.headers.get("range", "") for request in server.asked(FILE)]
    starts = [int(text.removeprefix("bytes=").partition("-")[0] or 0) for text in ranges if text]
    assert len(ranges) == 8
    assert starts == sorted(set(starts))
    assert starts[0] > 0


def test_cut_with_nothing_new_it_ends_and_keeps_what_came(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, Fault(cut=100_000), *[Fault(cut=0)] * 9)
    with pytest.raises(UserError) as error:
        get(hub, listing)
    assert str(error.value) == (
        f"{listing.name}: {FILE}: the connection to {hub.host} keeps breaking off; what was "
        "downloaded is kept, and the next attempt resumes there"
    )
    assert nothing_is_there(hub, listing)
    kept = part(hub).stat().st_size
    assert 0 < kept <= 100_000
    server.faults.clear()
    server.requests.clear()
    assert get(hub, listing).read_bytes() == CONTENT
    assert [request.headers["range"] for request in server.requests] == [f"bytes={kept}-"]


def test_a_server_that_starts_anew_after_a_cut(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, Fault(cut=100_000), Fault(ignores_range=True))
    assert get(hub, listing).read_bytes() == CONTENT


def test_a_server_that_falls_silent(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    hasty = Hub(hub.endpoint, hub.cache, patience=1.0)
    server.fail(FILE, Fault(silent=True))
    assert get(hasty, listing).read_bytes() == CONTENT


@pytest.mark.parametrize("fault", [Fault(held=50_000), Fault(silent=True)], ids=["part", "nothing"])
def test_cancel_is_heard_while_nothing_comes(server: HubServer, hub: Hub, fault: Fault) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, fault)
    comes = (fault.held or 0) // CHUNK * CHUNK
    ticks = 0

    def cancel(done: int, total: int, label: str) -> None:
        nonlocal ticks
        ticks += bool(server.asked(FILE)) and done * UNIT == comes
        if ticks == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        get(hub, listing, cancel)
    # Whoever waits until the connection counts as lost asks once more.
    assert len(server.asked(FILE)) == 1
    assert nothing_is_there(hub, listing)
    assert part(hub).stat().st_size == comes
    # The hub is still silent, and the thread that listens to it ends all the same.
    for thread in threading.enumerate():
        if thread.name == "bertviewer-hub":
            thread.join(PATIENCE / 1000)
            assert not thread.is_alive()
    assert get(hub, listing).read_bytes() == CONTENT


def test_the_label_tells_bytes_and_speed(
    server: HubServer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The speed since the beginning: of a part, all may come at once after a wait.
    monkeypatch.setattr(meter, "WINDOW", 600.0)
    listing = wanted(server, hub)
    server.fail(FILE, Fault(pause=0.05))
    steps: list[tuple[int, int, str]] = []
    get(hub, listing, lambda done, total, label: steps.append((done, total, label)))
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
def test_what_is_not_the_file_is_thrown_away(server: HubServer, hub: Hub, content: bytes) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, Fault(content=content))
    with pytest.raises(UserError) as error:
        get(hub, listing)
    assert str(error.value) == (
        f"{listing.name}: {FILE}: {hub.host} sent a different file from the one it announced"
    )
    assert nothing_is_there(hub, listing)
    assert get(hub, listing).read_bytes() == CONTENT


@pytest.mark.parametrize("left", [b"something else", CONTENT + b"too long", CONTENT])
def test_what_an_earlier_try_left_is_not_believed(server: HubServer, hub: Hub, left: bytes) -> None:
    listing = wanted(server, hub)
    blobs = repository(hub.cache, REPO) / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{digest_of(FILE, CONTENT)}.bertviewer.incomplete").write_bytes(left)
    if left == b"something else":
        with pytest.raises(UserError, match="a different file from the one"):
            get(hub, listing)
    assert get(hub, listing).read_bytes() == CONTENT
    assert bool(server.asked(FILE)) == (left != CONTENT)


def test_a_compressed_answer_is_refused(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, Fault(200, {"Content-Encoding": "gzip"}))
    with pytest.raises(UserError, match="sent compressed data"):
        get(hub, listing)


def test_two_downloads_of_one_file_take_turns(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    server.fail(FILE, Fault(pause=0.02))
    places: list[Path] = []
    other = threading.Thread(target=lambda: places.append(get(hub, listing)))
    other.start()
    places.append(get(hub, listing))
    other.join()
    assert len(set(places)) == 1
    assert places[0].read_bytes() == CONTENT
    assert len(server.asked(FILE)) == 1


def test_a_disk_without_room(server: HubServer, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = wanted(server, hub)
    monkeypatch.setattr(
        "bertviewer.core.hub.download.shutil.disk_usage",
        lambda _path: type("Usage", (), {"free": 1000})(),
    )
    with pytest.raises(UserError, match="0 MB must be downloaded, but the disk has only 0 MB left"):
        get(hub, listing)
    assert not server.asked(FILE)


def test_a_disk_that_fills_up(server: HubServer, hub: Hub) -> None:
    import resource

    listing = wanted(server, hub)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(UserError, match=r"cannot write .*: File too large"):
            get(hub, listing)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert nothing_is_there(hub, listing)
    assert get(hub, listing).read_bytes() == CONTENT


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_cache_that_cannot_be_written(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    hub.cache.mkdir()
    hub.cache.chmod(0o500)
    with pytest.raises(UserError, match=r"cannot write .*: Permission denied"):
        get(hub, listing)


def test_a_cache_that_is_a_file(server: HubServer, hub: Hub) -> None:
    listing = wanted(server, hub)
    hub.cache.write_bytes(b"")
    with pytest.raises(UserError, match=r"cannot write .*: (Not a directory|File exists)"):
        get(hub, listing)


def test_without_links_the_file_itself_lies_in_the_snapshot(
    server: HubServer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    listing = wanted(server, hub)
    place = get(hub, listing)
    assert not place.is_symlink()
    assert place.read_bytes() == CONTENT
    asked = len(server.asked(FILE))
    assert get(hub, listing) == place
    assert len(server.asked(FILE)) == asked


def test_the_digest_of_a_small_file_is_gits(server: HubServer, hub: Hub) -> None:
    # What `git hash-object` says of a file with the line "hello".
    assert digest_of("x.txt", b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert digest_of(FILE, b"hello\n") == hashlib.sha256(b"hello\n").hexdigest()
    listing = wanted(server, hub)
    file = listing.files["vocab.txt"]
    assert download(hub, listing, file, Meter(no_progress, 0)).read_bytes() == b"[UNK]\n"
