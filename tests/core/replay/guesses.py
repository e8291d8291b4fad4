"""Predictions at a token of a small model, and the model's own scores."""

from typing import Any

from bertviewer.core.analysis.predictions import Guess, Predictions
from bertviewer.core.replay.predictions import predictions_at
from tests.core.replay.model_runs import Opened


def logits_of(it: Opened) -> Any:
    """Return what the model gives, a tensor [rows, V]."""
    output = it.plain()
    return (output["prediction_logits"] if "prediction_logits" in output else output["logits"])[0]


def ids(guess: Guess) -> list[int]:
    return [candidate.id for candidate in guess.top]


def at(it: Opened, position: int, **more: Any) -> Predictions:
    return predictions_at(it, position, **more)
