"""Measures of tokens, by which their chips are coloured."""

from collections.abc import Sequence
from math import isfinite
from typing import Literal, get_args

from msgspec import Struct

from bertviewer.charts.labels import names_of_states
from bertviewer.charts.levels import ANY, COSINES, PARTS, Levels, span_of
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.attention_maps import Received
from bertviewer.core.analysis.similarity import cosines
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import number_text

MeasureName = Literal["norm", "cosine", "attention", "probability", "segment", "none"]
MEASURES: tuple[MeasureName, ...] = get_args(MeasureName)


class TokenMeasure(Struct, frozen=True):
    """A value per token, or ``None``.

    Attributes:
        name: the measure.
        title: its name with its layer or head.
        values: the value of each token.
        bounds: the values at the ends of the colours.
        are_kinds: the values are kinds, such as segments, and not quantities.
    """

    name: MeasureName
    title: str
    values: tuple[float | None, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)
    are_kinds: bool = False

    def _value(self, token: int) -> float | None:
        return self.values[token] if token < len(self.values) else None

    def share(self, token: int) -> float | None:
        """Return the position of a token's value between the bounds, from 0 to 1."""
        value = self._value(token)
        if value is None:
            return None
        low, high = self.bounds
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5

    def text(self, token: int) -> str:
        """Return a token's exact value, "" without any."""
        value = self._value(token)
        return "" if value is None else f"{self.title}: {number_text(value)}"


def state_for(run: ActivationRun, path: str | None) -> int | None:
    """Return the hidden state of the selected module, or else the last one.

    ``None`` for a run without hidden states.
    """
    count = len(run.token_norms)
    if not count:
        return None
    state = run.state_of(path) if path else None
    return state if state is not None and state < count else count - 1


def norm_measure(run: ActivationRun, state: int | None) -> TokenMeasure:
    """Return the norm of every token's vector in a hidden state."""
    values = () if state is None else run.token_norms[state]
    return _measure("norm", translate("charts", "‖h‖ after {0}").format(_name(run, state)), values)


def cosine_measure(run: ActivationRun, state: int | None) -> TokenMeasure:
    """Return the cosine of every token's vector in a hidden state to its embedding."""
    states = run.hidden_states
    values: Sequence[float | None] = ()
    if state is not None and state < len(states):
        values = cosines(states[state], states[0])
    title = translate("charts", "cosine to embedding after {0}").format(_name(run, state))
    return _measure("cosine", title, values, COSINES)


def attention_measure(
    run: ActivationRun, received: Received, head: int, layer: str
) -> TokenMeasure:
    """Return the share of a head's attention that every token receives from all queries."""
    values: list[float | None] = [None] * len(run.tokens)
    head = min(head, len(received.shares) - 1)
    for token, share in zip(received.tokens, received.shares[head].tolist(), strict=True):
        values[token] = share
    title = translate("charts", "attention received, {0}, head {1}").format(layer, head)
    return _measure("attention", title, values, PARTS)


def probability_measure(values: Sequence[float | None]) -> TokenMeasure:
    """Return the predicted probability of every token."""
    title = translate("charts", "probability of the token")
    return TokenMeasure("probability", title, tuple(values))


def segment_measure(run: ActivationRun) -> TokenMeasure:
    """Return the segment of every token."""
    values = tuple(float(token.segment) for token in run.tokens)
    return TokenMeasure("segment", translate("charts", "segment"), values, are_kinds=True)


def no_measure() -> TokenMeasure:
    """Return the measure without colours."""
    return TokenMeasure("none", translate("charts", "none"))


def _measure(
    name: MeasureName, title: str, values: Sequence[float | None], bounds: Levels = ANY
) -> TokenMeasure:
    kept = tuple(value if value is not None and isfinite(value) else None for value in values)
    known = [value for value in kept if value is not None]
    # Values that differ only by rounding have one colour.
    ends = span_of(min(known), max(known), bounds) if known else (0.0, 1.0)
    return TokenMeasure(name, title, kept, ends)


def _name(run: ActivationRun, state: int | None) -> str:
    return "" if state is None else names_of_states(run)[state]
