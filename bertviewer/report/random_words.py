"""What a report says of random weights: as much as is random, and no more."""

from bertviewer.core.architecture.source_info import SourceInfo
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text

ALL = (
    "The activations in this report pass through random weights. They show how the architecture "
    "behaves, not what a trained model has learnt."
)
ONE = (
    "1 of {1} tensors is not in the checkpoint and was drawn at random: no figure with it comes "
    "from training."
)
SOME = (
    "{0} of {1} tensors are not in the checkpoint and were drawn at random: no figure with them "
    "comes from training."
)
"""The words of the window's banner after a run."""


@frozen
class RandomWords:
    """``text`` stands on the first page, ``short`` on every other one."""

    text: str
    short: str


def random_words(source: SourceInfo, tensors: int) -> RandomWords | None:
    """Return what to say of a run with these weights; ``None`` where all of them are trained.

    Args:
        source: what the run's weights are.
        tensors: how many the model has, a tied one counted once.
    """
    if source.weights == "random":
        return RandomWords(ALL, "random weights")
    if count := len(source.random_tensors):
        text = count_text(count, ONE, SOME, tensors)
        return RandomWords(text, f"{count} of {tensors} tensors random")
    return None
