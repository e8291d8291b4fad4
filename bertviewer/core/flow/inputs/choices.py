"""What a model may be called with, the most telling first: the one that it takes is the one.

Names and sizes in a configuration leave open in which order an image's or a sound's dimensions
come. What a model is given wrongly it refuses at its first step, so that trying costs little.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, Generic, TypeVar

from torch import nn

from bertviewer.core.building.config_values import config_value
from bertviewer.core.errors import Stopped
from bertviewer.core.flow.inputs.forward_signature import Form, ForwardSignature, ones, random
from bertviewer.core.flow.inputs.images import IMAGE, image_forms
from bertviewer.core.flow.inputs.model_inputs import ModelInputs
from bertviewer.core.flow.inputs.others import other_forms
from bertviewer.core.flow.inputs.placeholders import (
    has_placeholders,
    placeholder_count,
    tells_count,
    with_placeholders,
)
from bertviewer.core.flow.inputs.sizes import number
from bertviewer.core.flow.inputs.sounds import SOUND, sound_forms
from bertviewer.core.flow.inputs.texts import (
    SENTENCES,
    TARGET_TOKENS,
    TEXT,
    plain_arguments,
    text_inputs,
    token_ids,
)

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
    lags = [lag for lag in config_value(config, "lags_sequence") or () if isinstance(lag, int)]
    before += max(lags, default=0)
    later = number(config, ("prediction_length",), default=1)
    channels = number(config, ("num_input_channels", "input_size"))
    features = number(config, ("num_time_features",))
    shapes: list[tuple[int, ...]] = [(before, channels)] if channels else []
    if channels < 2:
        # One number at each moment is as a rule no vector of one.
        shapes.insert(1 if config_value(config, "num_time_features") is None else 0, (before,))
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


Item = TypeVar("Item")


class Remembered(Generic[Item]):
    """What an iterator gives, as often as it is wanted."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._seen: list[Item] = []

    def __iter__(self) -> Iterator[Item]:
        """Yield what was made before, and make the rest on the way."""
        for place in count():
            if place == len(self._seen):
                try:
                    self._seen.append(next(self._items))
                except StopIteration:
                    return
            yield self._seen[place]


def products_of(groups: Sequence[Iterable[Item]]) -> Iterator[tuple[Item, ...]]:
    """Yield one of each group, as ``itertools.product`` does once it has made all of them."""
    if not groups:
        yield ()
        return
    for first in groups[0]:
        for rest in products_of(groups[1:]):
            yield first, *rest


MOST_CHOICES = 24
"""So many are tried of the same kinds, all taken together."""


def input_choices(model: nn.Module, values: Mapping[str, int]) -> Iterator[ModelInputs]:
    """Yield inputs for ``B`` sentences, images or sounds; texts have ``S`` and ``S_d`` tokens.

    Args:
        model: on the meta device.
        values: one for each of these letters.

    Raises:
        ValueError: the model wants something that nothing in its configuration tells.
    """
    signature = ForwardSignature(model, values)
    found = {
        TEXT: Remembered(_text_forms(signature)),
        IMAGE: Remembered(image_forms(signature)),
        SOUND: Remembered(sound_forms(signature)),
        SERIES: Remembered(series_forms(signature)),
    }
    forms = {kind: group for kind, group in found.items() if any(True for _ in group)}
    others = Remembered(other_forms(signature))
    has_one = False
    for inputs in _combined(signature, forms, others):
        has_one = True
        yield inputs
    if not has_one:
        made = {name for group in (*forms.values(), others) for form in group for name in form}
        lacking = ", ".join(sorted(signature.required - made))
        raise ValueError(
            f"no suitable values are known for {lacking}"
            if lacking
            else "its forward pass accepts no known kind of input"
        )


def _combined(
    signature: ForwardSignature, forms: Mapping[str, Iterable[Form]], others: Iterable[Form]
) -> Iterator[ModelInputs]:
    plain = {kind: Remembered(_plain(found)) for kind, found in forms.items()}
    counted = {kind: Remembered(_counted(signature, kind, found)) for kind, found in forms.items()}
    beside = Remembered(_plain(others))
    present = tuple(forms)
    without = [tuple(kind for kind in present if kind != left) for left in (SOUND, IMAGE)]
    for kinds in dict.fromkeys((present, *without, *((kind,) for kind in present))):
        taken = [(counted if TEXT in kinds else plain)[kind] for kind in kinds]
        for chosen in islice(products_of([beside, *taken]), MOST_CHOICES):
            arguments: dict[str, Any] = {}
            counts = {}
            for kind, (form, number_of_tokens) in zip(("", *kinds), chosen, strict=True):
                arguments |= form
                if number_of_tokens:
                    counts[kind] = number_of_tokens
            if counts and arguments["input_ids"].dim() == 2:
                arguments = with_placeholders(signature, arguments, counts)
            if arguments and signature.required <= arguments.keys():
                yield ModelInputs({**arguments, **_decoder(signature, arguments)}, kinds)


def _plain(forms: Iterable[Form]) -> Iterator[tuple[Form, int]]:
    return ((form, 0) for form in forms)


def _counted(
    signature: ForwardSignature, kind: str, forms: Iterable[Form]
) -> Iterator[tuple[Form, int]]:
    """Yield forms of a kind, each with the number of tokens that stand for it in the text.

    Where a model tells that number, it takes no other form than the first that it can tell it of.
    """
    if not has_placeholders(signature, kind):
        yield from _plain(forms)
    elif not tells_count(signature, kind):
        yield from ((form, count) for form in forms for count in (1, 0))
    else:
        for form in forms:
            try:
                count = placeholder_count(signature, kind, form)
            except Stopped:
                raise
            except Exception:  # noqa: BLE001 - a model refuses a form with any kind of error
                continue
            yield form, count
            return


def _text_forms(signature: ForwardSignature) -> Iterator[Form]:
    if "input_ids" not in signature.accepted:
        return
    text = text_inputs(signature.model, signature.values).arguments
    yield text
    codebooks = number(signature.config, ("num_codebooks", "num_channels", "n_codes_total"))
    if codebooks > 1 and "pixel_values" not in signature.accepted:
        for count in (codebooks, codebooks + 1):
            # Sound as a token of each codebook at each moment.
            for name in ("input_ids", "decoder_input_ids"):
                if name in text:
                    yield {**text, name: text[name].unsqueeze(-1).expand(-1, -1, count)}


def _decoder(signature: ForwardSignature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a decoder is given, and the arguments that are no tensors."""
    made = plain_arguments(signature.model)
    is_wanted = "decoder_input_ids" in signature.accepted and "input_ids" not in arguments
    if is_wanted:
        shape = signature.values[SENTENCES], signature.values[TARGET_TOKENS]
        made["decoder_input_ids"] = token_ids(signature.config, shape)
    return made
