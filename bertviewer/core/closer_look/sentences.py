"""Two sentences by their vectors, beside a dozen that have nothing to do with one another."""

from collections.abc import Mapping

from bertviewer.core.activations.activation_run import ActivationRun, Sentence
from bertviewer.core.analysis.sentence_vectors import (
    Pooling,
    SentenceComparison,
    Vectors,
    compared,
    sentence_vectors,
    start_label,
)
from bertviewer.core.analysis.unrelated_sentences import unrelated_to
from bertviewer.core.errors import UserError
from bertviewer.core.explanations.facts import is_decoder
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.device import CPU
from bertviewer.core.run.running import run_sentence


def compare_sentences(
    model: LoadedModel,
    first: str,
    second: str,
    progress: Progress = no_progress,
    *,
    random_weights: bool = False,
    device: str = CPU,
) -> SentenceComparison:
    """Run two sentences one by one, and the unrelated ones, and compare their vectors.

    Each is alone in its run: in one run as a pair, each would have seen the other.

    Raises:
        UserError: a sentence cannot be run, or the model gives no vectors to compare.
        Cancelled: ``progress`` said so.
    """
    unrelated = unrelated_to(first)
    texts = (first, second, *unrelated)
    found: list[Mapping[Pooling, Vectors]] = []
    start = ""
    for number, text in enumerate(texts):
        run = _run(model, text, random_weights, device, _Part(progress, number, len(texts)))
        # The model may turn out to be another than was remembered, once it is built.
        found.append(sentence_vectors(run, is_decoder(model.architecture)))
        start = start or start_label(run)
    poolings = compared(found[0], found[1], found[2:], start)
    if not poolings:
        raise UserError("this model gives no hidden states of one size to compare")
    return SentenceComparison(first, second, poolings, unrelated)


def _run(
    model: LoadedModel, text: str, random_weights: bool, device: str, progress: Progress
) -> ActivationRun:
    return run_sentence(model, Sentence(text, cut=True), random_weights, progress, device=device)


class _Part:
    """Tells how many sentences are done, whatever goes on in one of them."""

    def __init__(self, progress: Progress, number: int, total: int) -> None:
        self._progress, self._number, self._total = progress, number, total

    def __call__(self, done: int, total: int, label: str) -> None:
        del done, total, label
        self._progress(self._number, self._total, "Running unrelated sentences")
