"""Python's search for garbage, put off while much is made that stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Put the search off; for steps of a few seconds that make many objects, and little garbage.

    It is started by how many objects there are more, and goes through all that there are: with
    a thousand layers of a real model in memory it takes longer than to read them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
