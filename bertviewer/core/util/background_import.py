"""Lets a thread import large libraries while the others go on.

Three things would stop them. The search for garbage looks through all objects again and again,
0.1 to 0.2 s each time, for hundreds of thousands of new ones that stay. Python loads torch's
largest library, 0.2 to 0.4 s, without letting go of its lock. And a thread that wants the lock
waits for 5 ms each time, which adds up.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from bertviewer.core.util.gc_paused import no_search_for_garbage

SWITCH_INTERVAL = 0.001  # seconds for which a thread keeps the lock when another one wants it


@contextmanager
def quiet_imports() -> Iterator[None]:
    """Import torch and what comes with it inside of this.

    All objects that are there at the end are taken out of the search for garbage for good; they
    are still freed when nothing refers to them. Most stay as long as the program, and to look
    through them after every few runs would stop the window for a third of a second.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        with no_search_for_garbage():
            _load_torch_library()
            yield
            gc.freeze()
    finally:
        sys.setswitchinterval(interval)


def _load_torch_library() -> None:
    """Load torch's largest library while other threads go on; ``import torch`` finds it loaded.

    Python keeps its lock when it loads a library, for an import as for ``ctypes.CDLL``. It lets go
    of it in a call of a foreign function, and ``dlopen`` is one. The library knows nothing of
    Python, so nothing in it waits for the lock. If that fails nothing is lost: the import loads it,
    or tells what is wrong with it.
    """
    if sys.platform != "linux" or "torch" in sys.modules:
        return
    spec = find_spec("torch")  # finds it, and does not import it
    if spec is None or spec.origin is None:
        return
    import ctypes

    try:
        dlopen = ctypes.CDLL(None).dlopen
    except (OSError, AttributeError):  # a system that keeps it elsewhere
        return
    dlopen.argtypes, dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    library = Path(spec.origin).parent / "lib" / "libtorch_cpu.so"
    dlopen(os.fsencode(library), os.RTLD_NOW)  # as the import would; it is never closed
