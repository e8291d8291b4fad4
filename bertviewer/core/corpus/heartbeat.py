"""Heartbeats of processes that share the shards of a run, so that the first one detects dead ones.

Each process touches a file while it works. Clocks of other machines may be wrong: only that the
time of a file changes counts, not the time itself.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from bertviewer.core.corpus.plan import SHARDS_FOLDER, create_shards_folder
from bertviewer.core.corpus.shards import shard_file
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress

INTERVAL = 5.0
"""Seconds between two heartbeats."""
_MAX_LISTED = 5


class Timeouts(Struct, frozen=True):
    """How long the first process waits for the others.

    Attributes:
        silent: seconds without a heartbeat, after the first one.
        unheard: seconds until the first heartbeat: a process may be loading its weights.
        pause: seconds between two checks.
        clock: returns the time in seconds.
        sleep: waits for some seconds.
    """

    silent: float = 60.0
    unheard: float = 600.0
    pause: float = 0.2
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


DEFAULT_TIMEOUTS = Timeouts()


@contextmanager
def heartbeat(folder: Path, rank: int, interval: float = INTERVAL) -> Iterator[None]:
    """Send heartbeats inside the ``with``.

    Raises:
        UserError: the folder cannot be written.
    """
    create_shards_folder(folder)
    file = _file(folder, rank)
    ended = threading.Event()

    def touch() -> None:
        while not ended.wait(interval):
            with suppress(OSError):  # the folder is removed at the end
                os.utime(file)

    thread = threading.Thread(target=touch, name="bertviewer-working", daemon=True)
    try:
        file.touch()
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror or error}") from error
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class HeartbeatMonitor:
    """Waits for the other processes; created when the first one starts."""

    def __init__(self, folder: Path, world: int, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> None:
        self._folder, self._world, self._timeouts = folder, world, timeouts
        self._first = {rank: _touched(folder, rank) for rank in range(1, world)}

    def wait(self, shards: int, progress: Progress) -> None:
        """Return when all shards exist.

        Raises:
            UserError: a process with missing shards sends no heartbeat.
            Cancelled: by ``progress``.
        """
        timeouts, world = self._timeouts, self._world
        start = timeouts.clock()
        seen = dict(self._first)
        heard: dict[int, float] = {}
        while missing := _missing(self._folder, shards):
            ranks = sorted({number % world for number in missing})
            which = "process" if len(ranks) == 1 else "processes"
            listed = ", ".join(map(str, ranks[:_MAX_LISTED]))
            more = ", …" if len(ranks) > _MAX_LISTED else ""
            label = f"Waiting for shards of {which} {listed}{more}"
            progress(shards - len(missing), shards, label)
            now = timeouts.clock()
            for rank in ranks:
                touched = _touched(self._folder, rank)
                if touched != seen.get(rank):
                    seen[rank], heard[rank] = touched, now
                was_heard = rank in heard
                limit = timeouts.silent if was_heard else timeouts.unheard
                if now - heard.get(rank, start) > limit:
                    what = "has been silent" if was_heard else "did not report"
                    raise UserError(
                        f"process {rank} of {world} {what} for {limit:,.0f} seconds, and "
                        f"{len(missing):,} of {shards:,} shards are missing; "
                        "run the same command again to continue"
                    )
            timeouts.sleep(timeouts.pause)


def _missing(folder: Path, shards: int) -> list[int]:
    try:
        names = {entry.name for entry in (folder / SHARDS_FOLDER).iterdir()}
    except OSError as error:
        raise UserError(f"{folder / SHARDS_FOLDER}: {error.strerror or error}") from error
    return [number for number in range(shards) if shard_file(folder, number).name not in names]


def _file(folder: Path, rank: int) -> Path:
    return folder / SHARDS_FOLDER / f"process-{rank}"


def _touched(folder: Path, rank: int) -> int | None:
    try:
        return _file(folder, rank).stat().st_mtime_ns
    except OSError:
        return None
