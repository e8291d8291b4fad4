"""What the rows of a tensor stand for, where they stand for tokens."""

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.tensors.axes import TokenIndex
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

_EACH = 2000
"""Tokens between two reports of how far it is."""


def has_token_rows(architecture: Architecture, tensor: TensorInfo) -> bool:
    """Tell whether a tensor has a row for each token of the vocabulary."""
    if not tensor.shape or tensor.shape[0] != architecture.config.get("vocab_size"):
        return False
    # Another size may happen to be the same.
    return tensor.symbolic_shape is None or "V" in tensor.symbolic_shape[0]


def token_rows(
    model: LoadedModel, tensor: TensorInfo, progress: Progress = no_progress
) -> TokenIndex:
    """Return the tokens of a tensor's rows as the vocabulary writes them.

    There are none where the rows are no tokens, or the model came without its vocabulary.

    Raises:
        Cancelled: ``progress`` said so.
    """
    if not has_token_rows(model.architecture, tensor):
        return TokenIndex(())
    try:
        tokenizer = model.tokenizer(progress)
    except UserError:
        return TokenIndex(())  # a model without a tokenizer has numbers for its rows
    if tokenizer.kind == "stand-in":
        return TokenIndex(())
    names = []
    for number in range(tensor.shape[0]):
        if number % _EACH == 0:
            progress(number, tensor.shape[0], "Reading the vocabulary")
        names.append(tokenizer.text_of(number))
    return TokenIndex(names)
