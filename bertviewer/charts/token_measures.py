"""A figure for each token of a run, by which its tokens can be coloured: plain data."""

from collections.abc import Sequence
from math import isfinite
from typing import Literal

from msgspec import Struct

from bertviewer.charts.labels import names_of_states
from bertviewer.charts.levels import widened
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.attention_maps import Received
from bertviewer.core.analysis.similarity import cosines
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import number_text

MeasureName = Literal["norm", "cosine", "attention", "probability", "segment", "none"]
MEASURES: tuple[MeasureName, ...] = (
    "norm", "cosine", "attention", "probability", "segment", "none",
)  # fmt: skip


class TokenMeasure(Struct, frozen=True):
    """Figures of tokens, ``None`` where there is none, and what they are.

    ``bounds`` are the least and the most of what colours tell apart. ``are_kinds``: the figures
    are no amounts but name kinds, as a segment does.
    """

    name: MeasureName
    title: str
    values: tuple[float | None, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)
    are_kinds: bool = False

    def share(self, token: int) -> float | None:
        """Return where between the bounds a token's figure is, from 0 to 1."""
        value = self.values[token] if token < len(self.values) else None
        if value is None:
            return None
        low, high = self.bounds
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5

    def text(self, token: int) -> str:
        """Return a token's exact figure in words, "" where there is none."""
        value = self.values[token] if token < len(self.values) else None
        return "" if value is None else f"{self.title}: {number_text(value)}"


def state_for(run: ActivationRun, path: str | None) -> int | None:
    """Return the hidden state that figures are of while a module is selected, else the last one.

    ``None`` stands for a run without any.
    """
    count = len(run.token_norms)
    if not count:
        return None
    state = run.state_of(path) if path else None
    return state if state is not None and state < count else count - 1


def norm_measure(run: ActivationRun, state: int | None) -> TokenMeasure:
    """Return the norm of every token's vector in a hidden state."""
    values = () if state is None else run.token_norms[state]
    title = translate("charts", "‖h‖ after {0}").format(_name(run, state))
    return _of_amounts("norm", title, values)


def cosine_measure(run: ActivationRun, state: int | None) -> TokenMeasure:
    """Return the cosine of every token's vector in a hidden state to that of its embedding."""
    states = run.hidden_states
    has_states = state is not None and state < len(states)
    values = cosines(states[state], states[0]) if has_states and state is not None else ()
    title = translate("charts", "cosine to embedding after {0}").format(_name(run, state))
    return _of_amounts("cosine", title, values)


def attention_measure(
    run: ActivationRun, received: Received, head: int, layer: str
) -> TokenMeasure:
    """Return what share of a head's attention every token receives, over all queries."""
    values: list[float | None] = [None] * len(run.tokens)
    head = min(head, len(received.shares) - 1)
    for token, share in zip(received.tokens, received.shares[head].tolist(), strict=True):
        values[token] = share
    title = translate("charts", "attention received, {0}, head {1}").format(layer, head)
    return _of_amounts("attention", title, values)


def probability_measure(values: Sequence[float | None]) -> TokenMeasure:
    """Return the probability that the model's head gives every token in its place."""
    title = translate("charts", "probability of the token")
    return TokenMeasure("probability", title, tuple(values))


def segment_measure(run: ActivationRun) -> TokenMeasure:
    """Return the segment of every token."""
    values = tuple(float(token.segment) for token in run.tokens)
    return TokenMeasure("segment", translate("charts", "segment"), values, are_kinds=True)


def no_measure() -> TokenMeasure:
    """Return what colours nothing."""
    return TokenMeasure("none", translate("charts", "none"))


def _of_amounts(name: MeasureName, title: str, values: Sequence[float | None]) -> TokenMeasure:
    kept = tuple(value if value is not None and isfinite(value) else None for value in values)
    amounts = [value for value in kept if value is not None]
    # What is equal but for rounding has one colour.
    bounds = widened(min(amounts), max(amounts)) if amounts else (0.0, 1.0)
    return TokenMeasure(name, title, kept, bounds)


def _name(run: ActivationRun, state: int | None) -> str:
    return "" if state is None else names_of_states(run)[state]
