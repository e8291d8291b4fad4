"""Warnings and remarks about a run: random weights, truncation, NaN, equal layers."""

from collections.abc import Sequence

from bertviewer.charts.layers import NotFinite
from bertviewer.core.analysis.layers import normed_layers
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate

_RANDOM = QT_TRANSLATE_NOOP("notes", "Random weights – results are meaningless.")
_PLACEHOLDER = QT_TRANSLATE_NOOP(
    "notes", "No vocabulary: tokens come from a placeholder tokenizer."
)
_AS_BERT = QT_TRANSLATE_NOOP(
    "notes",
    "Tokenized as for BERT: the model has only a vocab.txt and no tokenizer file.",
)
_TRUNCATED = QT_TRANSLATE_NOOP(
    "notes", "The sentence was truncated to {0} tokens: the model accepts no more."
)
_HALF_PRECISION = QT_TRANSLATE_NOOP(
    "notes",
    "Slow run: the weights are {0}, which most CPUs convert before each product. A GPU "
    "computes with them directly.",
)
_EQUAL_LAYERS = QT_TRANSLATE_NOOP(
    "notes",
    "Every layer ends in a {0}, which is initialised to γ = 1 and β = 0. Each "
    "token therefore has std 1 and norm √{1} = {2}, whatever the other weights are.",
)
_IN_LAYER = QT_TRANSLATE_NOOP("notes", "NaN or Inf in layer {0}")
_IN_LAYERS = QT_TRANSLATE_NOOP("notes", "NaN or Inf in layers {0}")
_IN_STACKS = QT_TRANSLATE_NOOP("notes", "NaN or Inf in {0}")
_IN_BOTH = QT_TRANSLATE_NOOP("notes", "A and B: {0}")
SLOW = 1.0  # seconds


def run_notes(run: ActivationRun, architecture: Architecture) -> list[str]:
    """Return warnings about a run, most important first.

    A checkpoint's missing tensors are reported in the model's banner instead.
    """
    notes = []
    if run.source.weights == "random":
        notes.append(_translated(_RANDOM))
    if run.tokenizer == "stand-in":
        notes.append(_translated(_PLACEHOLDER))
    if run.tokenizer == "bert":
        notes.append(_translated(_AS_BERT))
    if run.sentence.cut:
        notes.append(_translated(_TRUNCATED).format(len(run.tokens)))
    halves = {t.dtype for t in architecture.parameters if t.dtype in ("float16", "bfloat16")}
    if halves and run.device == "cpu" and run.seconds_forward > SLOW:
        notes.append(_translated(_HALF_PRECISION).format(" / ".join(sorted(halves))))
    return notes


def equal_layers_note(run: ActivationRun, architecture: Architecture) -> str:
    """Return why all layers of a randomly initialised model have equal statistics, else ""."""
    found = normed_layers(architecture, run) if run.source.weights == "random" else None
    if found is None:
        return ""
    text = _translated(_EQUAL_LAYERS)
    return text.format(found.class_name, f"{found.features:,}", f"{found.norm:.4g}")


def not_finite_note(b: NotFinite, a: NotFinite | None = None) -> str:
    """Return which layers have a NaN or an Inf, "" if none does.

    Several stacks are named. If there is a baseline ``a``, the note says which run is meant.
    """
    of_b = _layers_text(b)
    if a is None:
        return of_b
    of_a = _layers_text(a)
    if of_a and of_a == of_b:
        return _translated(_IN_BOTH).format(of_b)
    return "; ".join(f"{run}: {text}" for run, text in (("A", of_a), ("B", of_b)) if text)


def _layers_text(found: NotFinite) -> str:
    if set(found) <= {""}:
        layers = found.get("", ())
        text = _translated(_IN_LAYER if len(layers) == 1 else _IN_LAYERS)
        return text.format(_numbers(layers)) if layers else ""
    stacks = ", ".join(f"{stack} {_numbers(layers)}" for stack, layers in found.items())
    return _translated(_IN_STACKS).format(stacks)


def _numbers(layers: Sequence[int]) -> str:
    """Return numbers of layers as 3–5, or as 1, 5."""
    first, last = layers[0], layers[-1]
    is_range = len(layers) > 2 and len(layers) == last - first + 1
    return f"{first}–{last}" if is_range else ", ".join(map(str, layers))


def _translated(text: str) -> str:
    return translate("notes", text)
