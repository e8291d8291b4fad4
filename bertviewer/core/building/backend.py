"""torch and transformers with this program's settings; seeded randomness; the default dtype."""

import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    import transformers

transformers.utils.logging.disable_progress_bar()
# Messages logged before an exception may quote the content of a file.
logging.getLogger("transformers").setLevel(logging.CRITICAL)
# The fused encoder of torch.nn skips the children's forward, and with it their hooks.
torch.backends.mha.set_fastpath_enabled(False)
# A forked process has none of torch's worker threads and would wait for them forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))

__all__ = ["default_dtype", "seeded", "torch", "transformers"]

# Both are settings of the whole process.
_GENERATOR_LOCK = threading.RLock()
_DTYPE_LOCK = threading.RLock()


@contextmanager
def seeded(seed: int | None = None) -> Iterator[None]:
    """Lock the CPU random generator, seed it unless ``seed`` is None, and restore it afterwards."""
    with _GENERATOR_LOCK, torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        yield


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set torch's default dtype temporarily, in one thread at a time."""
    with _DTYPE_LOCK:
        before = torch.get_default_dtype()
        if before != dtype:
            torch.set_default_dtype(dtype)
        try:
            yield
        finally:
            if before != dtype:
                torch.set_default_dtype(before)
