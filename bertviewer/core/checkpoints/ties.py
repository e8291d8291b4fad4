"""Whether tensors that a model class ties are the same in a checkpoint that stores both."""

import numpy as np

from bertviewer.core.checkpoints.decoding import rounded
from bertviewer.core.checkpoints.keys import LoadReport
from bertviewer.core.checkpoints.reading import matrix_shape, read_block
from bertviewer.core.checkpoints.stored import Checkpoint, StoredTensor
from bertviewer.core.util.progress import Progress, no_progress

BLOCK = 1 << 20
"""Elements that are compared at a time."""


def untied_names(
    keys: LoadReport, checkpoint: Checkpoint, progress: Progress = no_progress
) -> tuple[str, ...]:
    """Return the parameters that transformers leaves untied, since the checkpoint's values differ.

    They are compared in the model's dtype, as it loads them. Values are read only where a
    checkpoint stores both of two tied tensors. Where the file is still to be downloaded they are
    taken to differ: equal ones are mostly stored once.

    Raises:
        UserError: a file cannot be read.
        Cancelled: by ``progress``.
    """
    found = []
    for name, leader in keys.twice.items():
        one, other = (checkpoint.tensors[keys.stored[key]] for key in (name, leader))
        is_here = one.file.exists() and other.file.exists()
        if not (is_here and _same_values(one, other, keys.dtype, progress)):
            found.append(name)
    return tuple(found)


def _same_values(one: StoredTensor, other: StoredTensor, dtype: str, progress: Progress) -> bool:
    """Tell whether two tensors have the same values in a dtype of torch.

    Both are read up to the first difference.

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
        left, right = (rounded(read_block(tensor, *block), dtype) for tensor in (one, other))
        if not np.array_equal(left, right):
            return False
    return True
