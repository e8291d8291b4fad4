"""Time series: what was measured before, and what a calendar tells of then and later."""

from collections.abc import Iterator

from bertviewer.core.flow.inputs.forward_signature import Form, ForwardSignature, ones, random
from bertviewer.core.flow.inputs.sizes import number
from bertviewer.core.flow.inputs.texts import SENTENCES

SERIES = "time series"

CONTEXT = 512
"""So much of the past is given where a model takes any, or more than is worth while."""
LONGEST = 4096


def series_forms(signature: ForwardSignature) -> Iterator[Form]:
    """Yield what a model of time series may want; nothing for other models."""
    if "past_values" not in signature.accepted:
        return
    config, count = signature.config, signature.values[SENTENCES]
    before = number(config, ("context_length",), default=CONTEXT)
    before = before if before <= LONGEST else CONTEXT
    lags = [lag for lag in getattr(config, "lags_sequence", None) or () if isinstance(lag, int)]
    before += max(lags, default=0)
    later = number(config, ("prediction_length",), default=1)
    channels = number(config, ("num_input_channels", "input_size"))
    features = number(config, ("num_time_features",))
    shapes: list[tuple[int, ...]] = [(before, channels)] if channels else []
    if channels < 2:
        # One number at each moment is as a rule no vector of one.
        shapes.insert(0 if hasattr(config, "num_time_features") else 1, (before,))
    for shape in shapes:
        made = {
            "past_values": random(count, *shape),
            "past_time_features": random(count, before, features),
            "past_observed_mask": ones(count, *shape),
            "past_values_padding": 0 * ones(count, before),
            "freq": 0 * ones(count, 1),
            "future_values": random(count, later, *shape[1:]),
            "future_time_features": random(count, later, features),
            "static_categorical_features": 0
            * ones(count, number(config, ("num_static_categorical_features",))),
            "static_real_features": random(count, number(config, ("num_static_real_features",))),
        }
        yield {
            name: value
            for name, value in made.items()
            if name in signature.accepted and (value.numel() or not name.startswith("static"))
        }
    rows = [random(before)] * count
    yield {"past_values": rows, **({"freq": [0] * count} if "freq" in signature.accepted else {})}
