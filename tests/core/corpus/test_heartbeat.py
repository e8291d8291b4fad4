"""The first process waits for the others, but not for one that is dead."""

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
    """A clock that advances when the monitor sleeps, and then calls a function with the time."""

    def __init__(self, tick: Callable[[int], object]) -> None:
        self.now = 0.0
        self._tick = tick

    @property
    def timeouts(self) -> Timeouts:
        return Timeouts(60, 600, 1, lambda: self.now, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self._tick(round(self.now))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the shards of the first process."""
    (tmp_path / SHARDS_FOLDER).mkdir()
    for shard in (0, 3):
        shard_file(tmp_path, shard).touch()
    return tmp_path


def beat(folder: Path, rank: int, at: int) -> None:
    file = folder / SHARDS_FOLDER / f"process-{rank}"
    file.touch()
    os.utime(file, ns=(at, at))


def test_all_processes_finish(folder: Path) -> None:
    def tick(now: int) -> None:
        beat(folder, 1, now)
        if now > 30:
            beat(folder, 2, now)
        for time_, shard in ((100, 1), (200, 4), (900, 2), (1000, 5)):
            if now == time_:
                shard_file(folder, shard).touch()

    clock, labels = Clock(tick), list[str]()
    monitor = HeartbeatMonitor(folder, WORLD, clock.timeouts)
    monitor.wait(SHARDS, lambda *reported: labels.append(reported[2]))
    assert clock.now == 1000
    assert list(dict.fromkeys(labels)) == [
        "Waiting for shards of processes 1, 2",
        "Waiting for shards of process 2",
    ]


@pytest.mark.parametrize(
    ("rank", "last", "message", "ended"),
    [
        (2, 1, "process 2 of 3 has been silent for 60 seconds, and 4 of 6 shards are missing", 62),
        (2, 300, "process 2 of 3 has been silent for 60 seconds", 361),
        # Its file is from an earlier day.
        (2, 0, "process 2 of 3 did not report for 600 seconds, and 4 of 6 shards are missing", 601),
        (1, 0, "process 1 of 3 did not report for 600 seconds", 601),
    ],
)
def test_a_process_that_dies(folder: Path, rank: int, last: int, message: str, ended: int) -> None:
    def tick(now: int) -> None:
        beat(folder, 3 - rank, now)
        if now <= last:
            beat(folder, rank, now)

    beat(folder, rank, 7)
    clock = Clock(tick)
    with pytest.raises(UserError, match=message):
        HeartbeatMonitor(folder, WORLD, clock.timeouts).wait(SHARDS, no_progress)
    assert clock.now == ended


def test_a_process_that_died_while_the_first_one_worked(folder: Path) -> None:
    clock = Clock(lambda now: beat(folder, 2, now))
    monitor = HeartbeatMonitor(folder, WORLD, clock.timeouts)
    beat(folder, 1, 5)
    with pytest.raises(UserError, match="process 1 of 3 has been silent for 60 seconds"):
        monitor.wait(SHARDS, no_progress)
    assert clock.now == 61


def test_heartbeats_end_with_the_work(tmp_path: Path) -> None:
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
    # The first process removes the file when all shards exist.
    with heartbeat(tmp_path, 1, interval=0.0001):
        file.unlink()
    assert not file.exists()
