"""Writes a file of runs: a line that says what it is, and then JSON and arrays, compressed.

The JSON comes first, after its length in 8 bytes, so that it can be read without the arrays.
"""

import zlib
from collections.abc import Iterator

from bertviewer.core.saved_runs.arrays import ArrayWriter, to_plain
from bertviewer.core.saved_runs.run_file import SCHEMA, RunFile
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.serialization import dumps

MAGIC = f"{SCHEMA}\n".encode()
LEVEL = 3
"""Figures hardly become smaller with more."""


def content_of(file: RunFile, progress: Progress = no_progress) -> Iterator[bytes]:
    """Yield what is to be written, in pieces.

    Raises:
        Cancelled: by ``progress``.
    """
    arrays = ArrayWriter()
    text = dumps(to_plain(file, arrays), separators=(",", ":"), allow_nan=False)
    packing = zlib.compressobj(LEVEL)
    yield MAGIC
    yield packing.compress(len(text).to_bytes(8, "little") + text)
    for number, piece in enumerate(arrays.pieces):
        progress(number, len(arrays.pieces), "Writing the runs")
        yield packing.compress(piece)
    yield packing.flush()
