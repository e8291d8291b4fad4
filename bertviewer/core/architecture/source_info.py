"""Where an open model comes from, and what its weights are: plain data."""

from collections.abc import Mapping
from typing import Any, Literal

from bertviewer.core.frozen import frozen

Weights = Literal["none", "pretrained", "random"]

SEED = 0
"""What random weights are drawn from: the same each time."""


@frozen
class SourceInfo:
    """Where a model comes from, and what its weights are.

    ``random_tensors`` names the tensors that a pretrained checkpoint does not hold: they are
    initialised at random, and figures that pass through them are not trained ones. ``offloaded``
    are weights that are read layer by layer, as the model runs.
    """

    kind: str
    name: str
    task: str
    weights: Weights
    random_tensors: tuple[str, ...] = ()
    offloaded: bool = False

    def random_outside(self, *names: str) -> tuple[str, ...]:
        """Return the random tensors that are in no module of one of these names."""
        return tuple(
            tensor for tensor in self.random_tensors if not set(names) & set(tensor.split("."))
        )

    def to_json(self) -> dict[str, Any]:
        """Return the ``source`` of every document."""
        return {
            "kind": self.kind,
            "name": self.name,
            "task": self.task,
            "weights": self.weights,
            "random_tensors": list(self.random_tensors),
            **({"offloaded": True} if self.offloaded else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "SourceInfo":
        """Read what ``to_json`` gave."""
        return cls(
            data["kind"],
            data["name"],
            data["task"],
            data["weights"],
            tuple(data.get("random_tensors", ())),
            bool(data.get("offloaded", False)),
        )
