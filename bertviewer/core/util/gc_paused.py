"""Python's search for garbage, put off while much is made that stays."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_holders = 0  # how many have it put off now
_was_on = True  # before the first of them


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Put the search off; for steps of a few seconds that make many objects, and little garbage.

    It is started by how many objects there are more, and goes through all that there are: with
    a thousand layers of a real model in memory it takes longer than to read them. It is put off
    for all threads, until the last one that wants it so has left.
    """
    global _holders, _was_on  # noqa: PLW0603 - the search is the process's own, and so are these
    with _lock:
        if not _holders:
            _was_on = gc.isenabled()
        _holders += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if not _holders and _was_on:
                gc.enable()
