"""Whether tensors that a model class ties are the same in a checkpoint that stores both."""

import numpy as np

from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.weights.keys import KeyReport
from bertviewer.core.weights.reading import matrix_shape, read_block
from bertviewer.core.weights.stored import Checkpoint, StoredTensor

BLOCK = 1 << 20
"""Elements that are compared at a time."""


def untied_names(
    keys: KeyReport, checkpoint: Checkpoint, progress: Progress = no_progress
) -> tuple[str, ...]:
    """Return the parameters that transformers leaves untied, since the checkpoint's values differ.

    Values are read only where a checkpoint stores both of two tied tensors. Where the file is still
    to be downloaded they are taken to differ: equal ones are mostly stored once.

    Raises:
        UserError: a file cannot be read.
        Cancelled: by ``progress``.
    """
    found = []
    for name, leader in keys.twice.items():
        one, other = (checkpoint.tensors[keys.stored[key]] for key in (name, leader))
        is_here = one.file.exists() and other.file.exists()
        if not (is_here and _same_values(one, other, progress)):
            found.append(name)
    return tuple(found)


def _same_values(one: StoredTensor, other: StoredTensor, progress: Progress) -> bool:
    """Tell whether two tensors hold the same values; both are read up to the first difference.

    As ``torch.equal`` has it: NaN is not equal to NaN.

    Raises:
        UserError: as ``read_block``.
        Cancelled: by ``progress``.
    """
    if one.shape != other.shape:
        return False
    height, width = matrix_shape(one.shape)
    step = max(1, BLOCK // max(1, width))
    for start in range(0, height, step):
        progress(start, height, f"Comparing {one.name} with {other.name}")
        block = (start, min(height, start + step)), (0, width)
        if not np.array_equal(read_block(one, *block), read_block(other, *block)):
            return False
    return True
