"""How the first process waits for the shards of others, and finds out that one of them is dead.

Each process touches a file while it works. What its clock says of that is not looked at, which on
another machine may be wrong: the first one sees that it changes.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from bertviewer.core.corpus.plan import FOLDER, made
from bertviewer.core.corpus.shard_files import shard_file
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress

_TOLD = 5
TOUCH = 5.0
"""Seconds from one touch to the next."""


class Patience(Struct, frozen=True):
    """How long the first process waits.

    Attributes:
        silent: seconds that a process may be silent for, once it was heard of.
        unheard: seconds until one is heard of at all: it may be starting, or loading its weights.
        pause: seconds between two looks.
        clock: tells the seconds.
        sleep: waits for some.
    """

    silent: float = 60.0
    unheard: float = 600.0
    pause: float = 0.2
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


PATIENT = Patience()
"""How long it waits where nothing else is asked for."""


@contextmanager
def working(folder: Path, rank: int, touch: float = TOUCH) -> Iterator[None]:
    """Have others see that this process works, inside the ``with``.

    Raises:
        UserError: the folder does not take a file.
    """
    made(folder)
    file = _sign(folder, rank)
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(touch):
            with suppress(OSError):  # the folder is gone where all is done
                os.utime(file)

    thread = threading.Thread(target=go_on, name="bertviewer-working", daemon=True)
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


class Others:
    """The other processes, as the first one sees them from when it begins."""

    def __init__(self, folder: Path, world: int, patience: Patience = PATIENT) -> None:
        self._folder, self._world, self._patience = folder, world, patience
        self._first = {rank: _touched(folder, rank) for rank in range(1, world)}

    def wait(self, shards: int, progress: Progress) -> None:
        """Return when the shards of all processes are there.

        Raises:
            UserError: one that has shards left is silent for too long.
            Cancelled: by ``progress``.
        """
        patience, world = self._patience, self._world
        start = patience.clock()
        seen = dict(self._first)
        heard: dict[int, float] = {}
        while left := _left(self._folder, shards):
            ranks = sorted({number % world for number in left})
            which = "process" if len(ranks) == 1 else "processes"
            told = f"{which} {', '.join(map(str, ranks[:_TOLD]))}{', …' * (len(ranks) > _TOLD)}"
            progress(shards - len(left), shards, f"Waiting for shards of {told}")
            now = patience.clock()
            for rank in ranks:
                touched = _touched(self._folder, rank)
                if touched != seen.get(rank):
                    seen[rank], heard[rank] = touched, now
                was_heard = rank in heard
                limit = patience.silent if was_heard else patience.unheard
                if now - heard.get(rank, start) > limit:
                    what = "has been silent" if was_heard else "did not report"
                    raise UserError(
                        f"process {rank} of {world} {what} for {limit:,.0f} seconds, and "
                        f"{len(left):,} of {shards:,} shards are missing; "
                        "run the same command again to continue"
                    )
            patience.sleep(patience.pause)


def _left(folder: Path, shards: int) -> list[int]:
    try:
        there = {entry.name for entry in (folder / FOLDER).iterdir()}
    except OSError as error:
        raise UserError(f"{folder / FOLDER}: {error.strerror or error}") from error
    return [number for number in range(shards) if shard_file(folder, number).name not in there]


def _sign(folder: Path, rank: int) -> Path:
    return folder / FOLDER / f"process-{rank}"


def _touched(folder: Path, rank: int) -> int | None:
    try:
        return _sign(folder, rank).stat().st_mtime_ns
    except OSError:
        return None
