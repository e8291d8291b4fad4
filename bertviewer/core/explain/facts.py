"""What several explanations ask of a model: its attention, its special tokens, its weights."""

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.analysis.token_classes import token_classes
from bertviewer.core.explain.explanation import Asked
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.sources.special_tokens import FRAMES, Frame


def first_of(architecture: Architecture, role: str) -> ModuleNode | None:
    """Return the first module of a role."""
    return next((node for node in architecture.modules if node.role == role), None)


def compares_tokens(architecture: Architecture) -> bool:
    """Tell whether tokens find one another by queries and keys; in FNet, say, they do not."""
    return first_of(architecture, "self-attention") is not None


def sees_all(architecture: Architecture) -> bool:
    """Tell whether the model is an encoder: one stack, in which tokens see those that follow."""
    return not architecture.config.get("is_encoder_decoder") and is_causal(architecture) is False


def is_decoder(architecture: Architecture) -> bool:
    """Tell whether the model is a decoder alone: one stack, in which no token sees later ones."""
    return not architecture.config.get("is_encoder_decoder") and is_causal(architecture) is True


def is_trained(asked: Asked) -> bool:
    """Tell whether what is shown comes of weights that were read, and not of random ones."""
    source = asked.architecture.source if asked.run is None else asked.run.source
    return source.weights == "pretrained"


def is_random(run: ActivationRun | None) -> bool:
    """Tell whether a run's weights were drawn at random."""
    return run is not None and run.source.weights == "random"


def start_of(asked: Asked) -> str | None:
    """Return what the family calls the token before a text, as "[CLS]"; ``None`` if unknown."""
    frame = _frame(asked.architecture)
    named = None if frame is None or frame.first is None else frame.first[0]
    return _in_run(asked.run, "cls") or named


def end_of(asked: Asked) -> str | None:
    """Return what the family calls the token behind a text, as "[SEP]"; ``None`` if unknown."""
    frame = _frame(asked.architecture)
    named = None if frame is None or frame.last is None else frame.last[0]
    return _in_run(asked.run, "sep") or named


def mask_of(asked: Asked) -> str | None:
    """Return what the family calls the token that hides a word; ``None`` if unknown."""
    frame = _frame(asked.architecture)
    return None if frame is None or frame.mask is None else frame.mask[0]


def tokens_of(run: ActivationRun, name: str) -> tuple[int, ...]:
    """Return the places of a class of tokens, as "cls"."""
    return next((one.tokens for one in token_classes(run) if one.name == name), ())


def _in_run(run: ActivationRun | None, name: str) -> str:
    if run is None:
        return ""
    return next((one.label for one in token_classes(run) if one.name == name), "")


def _frame(architecture: Architecture) -> Frame | None:
    return FRAMES.get(str(architecture.config.get("model_type")))
