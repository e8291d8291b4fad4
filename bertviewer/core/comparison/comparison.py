"""How two models differ, as plain data; the left one is the one that the right is compared with."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import SourceInfo
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
"""What can become of a tensor, what matters most first."""


class Change(PartialEquality, Document, frozen=True):
    """How far the elements of a tensor moved, in float64.

    Attributes:
        equal: elements with the very same value; NaN is equal to NaN.
        count: all elements.
        max_abs: the largest distance of two elements.
        rms: the root mean square of the distances; both are ``None`` if all elements are NaN or
            Inf in one of the tensors.
        relative: the norm of the difference by the norm of the left tensor, ``None`` if that is 0.
        cosine: the cosine of both tensors as vectors, ``None`` if one of them is 0.
        difference_norm, left_norm: the norms that ``relative`` is made of, to add up tensors by.

    NaN and Inf are left out of all but the counts. Norms that are too large for float64 make the
    rms infinite, and the last two ``None``.
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
    """A tensor under its name: as the left model has it, as the right one has it, or both.

    ``change`` is ``None`` where there are no two sets of values of one shape to compare.
    """

    name: str
    left: TensorInfo | None
    right: TensorInfo | None
    change: Change | None = None

    @property
    def state(self) -> State:
        """What became of it from left to right."""
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
    """A key of the configuration with another value, ``None`` in the place where it is missing."""

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
        """How many tensors are in each state."""
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
            "tensors": [_to_json(tensor) for tensor in self.tensors],
        }


def compare_architectures(left: Architecture, right: Architecture) -> Comparison:
    """Compare all but the values of the tensors."""
    ours, theirs = _first_names(left), _first_names(right)
    names = list(dict.fromkeys((*ours, *theirs)))
    return Comparison(
        left=left.source,
        right=right.source,
        left_parameters=left.root.parameters,
        right_parameters=right.root.parameters,
        keys=_compare_keys(left.whole_config, right.whole_config),
        tensors=tuple(ComparedTensor(name, ours.get(name), theirs.get(name)) for name in names),
    )


def _first_names(architecture: Architecture) -> dict[str, TensorInfo]:
    return {tensor.name: tensor for tensor in architecture.parameters if tensor.tied_to is None}


def _compare_keys(left: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[ComparedKey, ...]:
    return tuple(
        ComparedKey(key, left.get(key), right.get(key))
        for key in sorted({*left, *right})
        if left.get(key) != right.get(key)
    )


def _to_json(tensor: ComparedTensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "state": tensor.state,
        "left": tensor.left and {"shape": list(tensor.left.shape), "dtype": tensor.left.dtype},
        "right": tensor.right and {"shape": list(tensor.right.shape), "dtype": tensor.right.dtype},
        "change": tensor.change and encode_floats(tensor.change.to_json()),
    }
