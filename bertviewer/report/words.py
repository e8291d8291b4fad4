"""Parts of sentences that several chapters share."""

from collections.abc import Iterable, Iterator

from bertviewer.charts.labels import MAX_TOKEN, shortened, visible
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import isolated
from bertviewer.report.blocks import Span, Text


def separated(texts: Iterable[Text], separator: str) -> Iterator[Span]:
    """Yield texts with a separator between them."""
    for place, text in enumerate(texts):
        yield from (separator, *text) if place else text


def quoted(text: str, length: int = MAX_TOKEN) -> str:
    """Return a token, a label or another text of a user or a model in quotes, shortened."""
    return f"“{isolated(shortened(visible(text), length))}”"


def quoted_token(run: ActivationRun, token: int) -> str:
    """Return a token with its position: “bank” (2)."""
    return f"{quoted(run.tokens[token].text)} ({token})"


def likelihood(value: float) -> str:
    """Return a probability with four decimals."""
    return "< 0.0001" if 0 < value < 0.0001 else f"{value:.4f}"
