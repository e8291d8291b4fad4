"""Sees every opening of a file, by any process and in any language: what inotify tells."""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPENED, _READ = 0x20, 0x1
_EVENT = struct.Struct("iIII")


@contextmanager
def watched(folder: Path) -> Iterator[list[str]]:
    """Collect the names of the files in a folder that are opened inside the ``with``."""
    system = ctypes.CDLL(None, use_errno=True)
    watch = system.inotify_init1(os.O_NONBLOCK)
    assert watch >= 0
    assert system.inotify_add_watch(watch, os.fsencode(folder), _OPENED | _READ) >= 0
    opened: list[str] = []
    try:
        yield opened
        try:
            events = os.read(watch, 1_000_000)
        except BlockingIOError:
            events = b""
        while events:
            length = _EVENT.unpack_from(events)[3]
            name = events[_EVENT.size : _EVENT.size + length].rstrip(b"\0")
            opened.append(os.fsdecode(name))
            events = events[_EVENT.size + length :]
    finally:
        os.close(watch)
