"""Parts of sentences that several chapters share."""

from bertviewer.charts.labels import MAX_TOKEN, shortened, visible
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import isolated

LEAST_PROBABILITY = 0.0001


def quoted_token(run: ActivationRun, token: int) -> str:
    """Return a token with its position: “bank” (2)."""
    return f"“{isolated(shortened(visible(run.tokens[token].text), MAX_TOKEN))}” ({token})"


def likelihood(value: float) -> str:
    """Return a probability with four decimals."""
    return "< 0.0001" if 0 < value < LEAST_PROBABILITY else f"{value:.4f}"
