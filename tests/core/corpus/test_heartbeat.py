"""The first process waits for the others, and not for one that is dead."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.core.corpus.heartbeat import HeartbeatMonitor, Timeouts, heartbeat
from bertviewer.core.corpus.plan import SHARDS_FOLDER
from bertviewer.core.corpus.shards import shard_file
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress

SHARDS, WORLD = 6, 3


class Clock:
    """A clock that goes on when somebody waits, and what else happens meanwhile."""

    def __init__(self, happens: Callable[[int], object]) -> None:
        self.now = 0.0
        self._happens = happens

    @property
    def timeouts(self) -> Timeouts:
        return Timeouts(60, 600, 1, lambda: self.now, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self._happens(round(self.now))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / SHARDS_FOLDER).mkdir()
    for shard in (0, 3):
        shard_file(tmp_path, shard).touch()
    return tmp_path


def touch(folder: Path, rank: int, at: int) -> None:
    file = folder / SHARDS_FOLDER / f"process-{rank}"
    file.touch()
    os.utime(file, ns=(at, at))


def test_all_end_well(folder: Path) -> None:
    def happens(now: int) -> None:
        touch(folder, 1, now)
        if now > 30:
            touch(folder, 2, now)
        if now in (100, 200, 900):
            shard_file(folder, {100: 1, 200: 4, 900: 2}[now]).touch()
        if now == 1000:
            shard_file(folder, 5).touch()

    clock, told = Clock(happens), list[str]()
    HeartbeatMonitor(folder, WORLD, clock.timeouts).wait(
        SHARDS, lambda *given: told.append(given[2])
    )
    assert clock.now == 1000
    assert list(dict.fromkeys(told)) == [
        "Waiting for shards of processes 1, 2",
        "Waiting for shards of process 2",
    ]


@pytest.mark.parametrize("last", [1, 300])
def test_one_that_dies(folder: Path, last: int) -> None:
    def happens(now: int) -> None:
        touch(folder, 1, now)
        if now <= last:
            touch(folder, 2, now)

    touch(folder, 2, 7)  # of another day
    clock = Clock(happens)
    said = r"process 2 of 3 has been silent for 60 seconds, and 4 of 6 shards are missing; run"
    with pytest.raises(UserError, match=said):
        HeartbeatMonitor(folder, WORLD, clock.timeouts).wait(SHARDS, no_progress)
    assert clock.now == last + 61


def test_one_that_died_while_the_first_one_worked(folder: Path) -> None:
    clock = Clock(lambda now: touch(folder, 2, now))
    others = HeartbeatMonitor(folder, WORLD, clock.timeouts)
    touch(folder, 1, 5)
    with pytest.raises(UserError, match="process 1 of 3 has been silent for 60 seconds"):
        others.wait(SHARDS, no_progress)
    assert clock.now == 61


def test_one_that_does_not_begin(folder: Path) -> None:
    touch(folder, 2, 7)  # of another day
    clock = Clock(lambda now: touch(folder, 1, now))
    said = "process 2 of 3 did not report for 600 seconds, and 4 of 6 shards are missing"
    with pytest.raises(UserError, match=said):
        HeartbeatMonitor(folder, WORLD, clock.timeouts).wait(SHARDS, no_progress)
    assert clock.now == 601


def test_a_process_shows_that_it_works(tmp_path: Path) -> None:
    file = tmp_path / SHARDS_FOLDER / "process-1"
    with heartbeat(tmp_path, 1, interval=0.001):
        for _ in range(3):
            os.utime(file, ns=(0, 0))
            until = time.monotonic() + 60
            while not file.stat().st_mtime_ns:
                assert time.monotonic() < until
                time.sleep(0.001)
    os.utime(file, ns=(0, 0))
    assert file.stat().st_mtime_ns == 0


def test_a_folder_that_is_taken_away_meanwhile(tmp_path: Path) -> None:
    """As the first process does when all is there."""
    file = tmp_path / SHARDS_FOLDER / "process-1"
    with heartbeat(tmp_path, 1, interval=0.0001):
        file.unlink()
    assert not file.exists()
