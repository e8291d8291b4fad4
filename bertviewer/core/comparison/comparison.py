"""Differences of two models as plain data, from the ``left`` model to the ``right`` one."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.serialization import Document, PartialEquality, encode_floats

SCHEMA = "bertviewer.comparison/1"

State = Literal["same", "changed", "not compared", "other shape", "only left", "only right"]
STATES: tuple[State, ...] = (
    "changed",
    "other shape",
    "only left",
    "only right",
    "not compared",
    "same",
)
"""The possible states of a tensor, the most important first."""


class Change(PartialEquality, Document, frozen=True):
    """The differences between a tensor's elements, in float64.

    Attributes:
        equal: the number of elements with the same value; NaN equals NaN.
        count: the number of all elements.
        max_abs: the largest absolute difference.
        rms: the root mean square of the differences; both are ``None`` if all elements are NaN or
            Inf in one of the tensors.
        relative: the norm of the difference divided by the norm of the left tensor, ``None`` if
            that is 0.
        cosine: the cosine of both tensors as vectors, ``None`` if one of them is 0.
        difference_norm, left_norm: the norms of ``relative``, for sums over tensors.

    NaN and Inf only affect the counts. If norms overflow float64, the rms is infinite, and
    ``relative`` and ``cosine`` are ``None``.
    """

    JSON = "equal count max_abs rms relative cosine"

    NOT_COMPARED = ("difference_norm", "left_norm")

    equal: int
    count: int
    max_abs: float | None
    rms: float | None
    relative: float | None
    cosine: float | None
    difference_norm: float = 0.0
    left_norm: float = 0.0


class ComparedTensor(Struct, frozen=True):
    """A tensor as the left and the right model have it.

    ``change`` is ``None`` without two sets of values of one shape.
    """

    name: str
    left: TensorInfo | None
    right: TensorInfo | None
    change: Change | None = None

    @property
    def state(self) -> State:
        """What happened to it from left to right."""
        if self.left is None:
            return "only right"
        if self.right is None:
            return "only left"
        if self.left.shape != self.right.shape:
            return "other shape"
        if self.change is None:
            return "not compared"
        return "same" if self.change.equal == self.change.count else "changed"


class ComparedKey(Struct, frozen=True):
    """A configuration key with different values, ``None`` where it is missing."""

    key: str
    left: Any
    right: Any


class Comparison(Struct, frozen=True):
    """Two models: their sources and totals, the keys that differ, and all their tensors.

    A tied tensor is compared under its first name.
    """

    left: SourceInfo
    right: SourceInfo
    left_parameters: int
    right_parameters: int
    keys: tuple[ComparedKey, ...]
    tensors: tuple[ComparedTensor, ...]

    @property
    def counts(self) -> dict[State, int]:
        """The number of tensors in each state."""
        states = [tensor.state for tensor in self.tensors]
        return {state: states.count(state) for state in STATES}

    def to_json(self) -> dict[str, Any]:
        """Return the document ``bertviewer.comparison/1``."""
        return {
            "schema": SCHEMA,
            "left": self.left.to_json() | {"parameters": self.left_parameters},
            "right": self.right.to_json() | {"parameters": self.right_parameters},
            "config": {key.key: encode_floats([key.left, key.right]) for key in self.keys},
            "counts": self.counts,
            "tensors": [
                {
                    "name": tensor.name,
                    "state": tensor.state,
                    "left": _to_json(tensor.left),
                    "right": _to_json(tensor.right),
                    "change": tensor.change and encode_floats(tensor.change.to_json()),
                }
                for tensor in self.tensors
            ],
        }


def compare_architectures(left: Architecture, right: Architecture) -> Comparison:
    """Compare everything except the values of tensors."""
    ours, theirs = _first_names(left), _first_names(right)
    one, other = left.whole_config, right.whole_config
    return Comparison(
        left=left.source,
        right=right.source,
        left_parameters=left.root.parameters,
        right_parameters=right.root.parameters,
        keys=tuple(
            ComparedKey(key, one.get(key), other.get(key))
            for key in sorted({*one, *other})
            if one.get(key) != other.get(key)
        ),
        tensors=tuple(
            ComparedTensor(name, ours.get(name), theirs.get(name)) for name in {**ours, **theirs}
        ),
    )


def check_same_structure(ours: Architecture, theirs: Architecture) -> None:
    """Check that two models have the same tensors, so that their runs can be compared.

    Raises:
        UserError: they differ.
    """
    shapes = ({tensor.name: tensor.shape for tensor in it.parameters} for it in (ours, theirs))
    if next(shapes) != next(shapes):
        name = theirs.source.name
        raise UserError(f"{name} has a different structure, so its run cannot be compared")


def module_changes(comparison: Comparison) -> Mapping[str, float]:
    """Return ‖Δ‖ / ‖left‖ over all compared tensors in each module, by its path; the root is "".

    Modules without compared tensors, or whose left tensors are all 0, are left out.
    """
    sums: dict[str, tuple[float, float]] = {}
    for tensor in comparison.tensors:
        if tensor.change is None:
            continue
        path = tensor.name
        while path:
            path = path.rpartition(".")[0]
            # Norms, not squares, which can overflow.
            difference, left = sums.get(path, (0.0, 0.0))
            sums[path] = (
                math.hypot(difference, tensor.change.difference_norm),
                math.hypot(left, tensor.change.left_norm),
            )
    return {
        path: difference / left
        for path, (difference, left) in sums.items()
        if 0 < left < math.inf and difference < math.inf
    }


def _first_names(architecture: Architecture) -> dict[str, TensorInfo]:
    return {tensor.name: tensor for tensor in architecture.parameters if tensor.tied_to is None}


def _to_json(tensor: TensorInfo | None) -> dict[str, Any] | None:
    return None if tensor is None else {"shape": list(tensor.shape), "dtype": tensor.dtype}
