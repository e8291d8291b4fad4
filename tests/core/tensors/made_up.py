"""Values of tensors in memory and in files that tests have written."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.checkpoints.stored import StoredTensor
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.values import Origin, TensorValues, memory_values


def in_memory(values: ArrayLike, name: str = "made.up") -> TensorValues:
    """Return the values of a tensor with the elements of an array."""
    array = np.asarray(values)
    elements = array.reshape(matrix_shape(array.shape))
    return memory_values(name, array.shape, str(array.dtype), Origin("drawn"), elements)


def matrix(values: ArrayLike) -> Matrix:
    """Return an array of at most two dimensions as a matrix."""
    return Matrix(in_memory(values))


def stored_in(file: Path) -> dict[str, StoredTensor]:
    """Return the tensors of a safetensors file."""
    with file.open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(size))
    header.pop("__metadata__", None)
    return {
        name: StoredTensor(
            name,
            entry["dtype"],
            tuple(entry["shape"]),
            file,
            8 + size + entry["data_offsets"][0],
            entry["data_offsets"][1] - entry["data_offsets"][0],
        )
        for name, entry in header.items()
    }
