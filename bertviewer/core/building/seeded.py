"""Chance that is the same each time, whatever other threads of the process do meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# The generator that models draw from is one for the whole process.
_one_at_a_time = threading.RLock()


@contextmanager
def seeded(seed: int | None = None) -> Iterator[None]:
    """Let nobody else draw inside the ``with``, and leave the generator as it was.

    It begins with the seed, or as it is where there is none.
    """
    with _one_at_a_time, torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        yield
