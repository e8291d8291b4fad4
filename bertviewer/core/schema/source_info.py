"""Where an open model comes from, and what its weights are: plain data."""

from typing import Literal

from bertviewer.core.checkpoints.quantization import Quantization
from bertviewer.core.util.serialization import Document

Weights = Literal["none", "pretrained", "random"]

QUANTIZED = "quantized"
"""Replaces the dtype of a tensor that is stored as codes."""

SEED = 0
"""What random weights are drawn from: the same each time."""


class SourceInfo(Document, frozen=True):
    """Where a model comes from, and what its weights are.

    ``random_tensors`` names the tensors that a pretrained checkpoint does not hold: they are
    initialised at random, and figures that pass through them are not trained ones. ``offloaded``
    are weights that are read layer by layer, as the model runs. ``notices`` are sentences that
    qualify every figure of this model, such as an ignored configuration key that changed the
    computation in training, or a guessed number of heads. They are shown wherever figures are.
    ``quantization`` is how the weights are stored, ``None`` if as plain numbers, and
    ``quantized_tensors`` names those that are stored as codes, which are not their values.
    """

    JSON = (
        "kind name task weights random_tensors quantization quantized_tensors?quantized_tensors "
        "offloaded?offloaded notices?notices"
    )

    kind: str
    name: str
    task: str
    weights: Weights
    random_tensors: tuple[str, ...] = ()
    offloaded: bool = False
    notices: tuple[str, ...] = ()
    quantization: Quantization | None = None
    quantized_tensors: tuple[str, ...] = ()

    def random_outside(self, *names: str) -> tuple[str, ...]:
        """Return the random tensors that are in no module of one of these names."""
        return tuple(
            tensor for tensor in self.random_tensors if not set(names) & set(tensor.split("."))
        )
