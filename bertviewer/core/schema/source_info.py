"""The origin of a model and its weights."""

from typing import Literal

from bertviewer.core.checkpoints.quantization import Quantization
from bertviewer.core.schema.sentence_pooling import SentencePooling
from bertviewer.core.util.serialization import Document

Weights = Literal["none", "pretrained", "random"]

QUANTIZED = "quantized"
"""The dtype shown for a tensor that is stored quantized."""

SEED = 0
"""The seed of random weights."""


class SourceInfo(Document, frozen=True):
    """The origin of a model and its weights.

    Attributes:
        kind: of the source, as in ``ModelSource``.
        name: as it was opened.
        task: the head's name.
        weights: whether there are any, and whether they are trained.
        random_tensors: tensors that a pretrained checkpoint does not have. They are initialised
            randomly, and values computed from them are not those of a trained model.
        offloaded: whether weights are read layer by layer while the model runs.
        notices: sentences that qualify every value of this model, such as a guessed number of
            heads. They are shown next to all values.
        quantization: how the weights are stored, ``None`` if as plain numbers.
        quantized_tensors: the tensors that are stored quantized.
        sentence_pooling: how the model makes a sentence's vector, ``None`` if unknown.
    """

    JSON = (
        "kind name task weights random_tensors quantization quantized_tensors?quantized_tensors "
        "offloaded?offloaded notices?notices sentence_pooling?sentence_pooling"
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
    sentence_pooling: SentencePooling | None = None

    def random_outside(self, *names: str) -> tuple[str, ...]:
        """Return the random tensors that are in no module with one of these names."""
        return tuple(
            tensor for tensor in self.random_tensors if not set(names) & set(tensor.split("."))
        )
