"""What a person has to know of a run before they believe its figures."""

from collections.abc import Sequence

from bertviewer.charts.layers import NotFinite
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate

_RANDOM = QT_TRANSLATE_NOOP("notes", "Random weights – results are meaningless.")
_STAND_IN = QT_TRANSLATE_NOOP("notes", "No vocabulary: tokens come from a placeholder tokenizer.")
_AS_BERT = QT_TRANSLATE_NOOP(
    "notes",
    "Tokenized as for BERT: the model has only a vocab.txt and no tokenizer file.",
)
_CUT = QT_TRANSLATE_NOOP(
    "notes", "The sentence was truncated to {0} tokens: the model accepts no more."
)
_HALF = QT_TRANSLATE_NOOP(
    "notes",
    "Slow run: the weights are {0}, which most CPUs convert before each product. A GPU "
    "computes with them directly.",
)
_IN_LAYER = QT_TRANSLATE_NOOP("notes", "NaN or Inf in layer {0}")
_IN_LAYERS = QT_TRANSLATE_NOOP("notes", "NaN or Inf in layers {0}")
_IN_STACKS = QT_TRANSLATE_NOOP("notes", "NaN or Inf in {0}")
_IN_BOTH = QT_TRANSLATE_NOOP("notes", "A and B: {0}")
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
    if run.tokenizer == "bert":
        notes.append(_translated(_AS_BERT))
    if run.sentence.cut:
        notes.append(_translated(_CUT).format(len(run.tokens)))
    halves = {t.dtype for t in architecture.parameters if t.dtype in ("float16", "bfloat16")}
    if halves and run.device == "cpu" and run.seconds_forward > SLOW:
        notes.append(_translated(_HALF).format(" / ".join(sorted(halves))))
    return notes


def not_finite_note(b: NotFinite, a: NotFinite | None = None) -> str:
    """Return in which layers there is a NaN or an Inf, "" if nowhere.

    Of several stacks each is named. Where there is a run A too, it is told of which run they are.
    """
    of_b = _layers_text(b)
    if a is None:
        return of_b
    of_a = _layers_text(a)
    if of_a and of_a == of_b:
        return _translated(_IN_BOTH).format(of_b)
    return "; ".join(f"{run}: {text}" for run, text in (("A", of_a), ("B", of_b)) if text)


def _layers_text(found: NotFinite) -> str:
    """Return where there is a NaN or an Inf, "" if nowhere."""
    if set(found) <= {""}:
        layers = found.get("", ())
        text = _translated(_IN_LAYER if len(layers) == 1 else _IN_LAYERS)
        return text.format(_numbers(layers)) if layers else ""
    stacks = ", ".join(f"{stack} {_numbers(layers)}" for stack, layers in found.items())
    return _translated(_IN_STACKS).format(stacks)


def _numbers(layers: Sequence[int]) -> str:
    """Return layers that are given one by one as 3–5, or as 1, 5."""
    first, last = layers[0], layers[-1]
    is_whole = len(layers) > 2 and len(layers) == last - first + 1
    return f"{first}–{last}" if is_whole else ", ".join(map(str, layers))


def _translated(text: str) -> str:
    return translate("notes", text)
