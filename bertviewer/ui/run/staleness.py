"""Whether what is shown is still what would come of the next run."""

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.ui.next_run import NextRun
from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate

_NOTHING_TYPED = QT_TRANSLATE_NOOP("staleness", "Of a sentence that was cleared:")
_SENTENCE = QT_TRANSLATE_NOOP("staleness", "Of another sentence:")
_WEIGHTS = QT_TRANSLATE_NOOP("staleness", "Of random weights, which are not chosen now:")
_DEVICE = QT_TRANSLATE_NOOP("staleness", "Computed on {0}, {1} is chosen now:")


def why_stale(run: ActivationRun, next_run: NextRun, device: str) -> str:
    """Return what has changed since a run, as words before its sentence; "" if nothing has."""
    typed = next_run.sentence
    if not typed.text.strip():
        return translate("staleness", _NOTHING_TYPED)
    if (typed.text, typed.pair) != (run.sentence.text, run.sentence.pair):
        return translate("staleness", _SENTENCE)
    if run.source.weights == "random" and not next_run.random_weights:
        return translate("staleness", _WEIGHTS)
    if device != run.device:
        return translate("staleness", _DEVICE).format(run.device, device)
    return ""
