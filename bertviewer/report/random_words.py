"""What a report says of random weights and of the model's notices, and no more."""

from msgspec import Struct

from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import count_text

ALL = (
    "The activations in this report come from random weights. They show how the architecture "
    "behaves, not what a trained model has learned."
)
ONE = (
    "1 of {1} tensors is missing from the checkpoint and was initialised randomly: results that "
    "use it are not meaningful."
)
SOME = (
    "{0} of {1} tensors are missing from the checkpoint and were initialised randomly: results "
    "that use them are not meaningful."
)
"""The words of the window's banner after a run."""
NOTICES = "see the model’s notices"


class RandomWords(Struct, frozen=True):
    """``text`` stands on the first page, ``short`` on every other one."""

    text: str
    short: str


def random_words(source: SourceInfo, tensors: int) -> RandomWords | None:
    """Return what to say of a run with these weights; ``None`` if there is nothing to say.

    Trained weights need no words, unless the model has notices.

    Args:
        source: what the run's weights are.
        tensors: how many the model has, a tied one counted once.
    """
    texts, short = [], NOTICES
    if source.weights == "random":
        texts, short = [ALL], "random weights"
    elif count := len(source.random_tensors):
        texts = [count_text(count, ONE, SOME, tensors)]
        short = f"{count} of {tensors} tensors random"
    texts += source.notices
    return RandomWords(" ".join(texts), short) if texts else None
