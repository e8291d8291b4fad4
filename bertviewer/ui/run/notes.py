"""What a person has to know of a run before they believe its figures."""

from PySide6.QtCore import QCoreApplication

from bertviewer.core.architecture import Architecture
from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.ui.translation import QT_TRANSLATE_NOOP

_RANDOM = QT_TRANSLATE_NOOP("notes", "RANDOM weights: no figure comes from training.")
_STAND_IN = QT_TRANSLATE_NOOP(
    "notes", "The tokens are a stand-in's: this configuration has no vocabulary."
)
_CUT = QT_TRANSLATE_NOOP("notes", "The sentence was CUT to {0} tokens: the model takes no more.")
_HALF = QT_TRANSLATE_NOOP(
    "notes",
    "The weights are {0}, which most CPUs convert before each product: that made the run slow. "
    "A GPU computes in it.",
)
SLOW = 1.0  # seconds


def run_notes(run: ActivationRun, architecture: Architecture) -> list[str]:
    """Return these notes, most important first.

    Of single tensors that are random the banner tells, for as long as the model is open.
    """
    notes = []
    if run.source.weights == "random":
        notes.append(_translated(_RANDOM))
    if run.tokenizer == "stand-in":
        notes.append(_translated(_STAND_IN))
    if run.sentence.cut:
        notes.append(_translated(_CUT).format(len(run.tokens)))
    halves = {t.dtype for t in architecture.parameters if t.dtype in ("float16", "bfloat16")}
    if halves and run.device == "cpu" and run.seconds_forward > SLOW:
        notes.append(_translated(_HALF).format(" / ".join(sorted(halves))))
    return notes


def _translated(text: str) -> str:
    return QCoreApplication.translate("notes", text)
