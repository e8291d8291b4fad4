"""The arguments that a model may accept, the likeliest first.

Names and sizes in a configuration leave open in which order the dimensions of an image or a sound
come. A model rejects wrong inputs in its first operations, so that trying costs little.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from torch import nn

from bertviewer.core.graph.inputs.forward_signature import Form, ForwardSignature
from bertviewer.core.graph.inputs.images import IMAGE, image_forms
from bertviewer.core.graph.inputs.model_inputs import ModelInputs
from bertviewer.core.graph.inputs.others import SERIES, other_forms, series_forms
from bertviewer.core.graph.inputs.placeholders import counted, with_placeholders
from bertviewer.core.graph.inputs.sounds import SOUND, sound_forms
from bertviewer.core.graph.inputs.texts import (
    SENTENCES,
    TARGET_TOKENS,
    TEXT,
    plain_arguments,
    text_inputs,
)

MOST_CHOICES = 24
"""The most that are tried of the same kinds, all taken together."""

Item = TypeVar("Item")


class Remembered(Generic[Item]):
    """The items of an iterator, computed once; they can be iterated over any number of times."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._seen: list[Item] = []

    def __iter__(self) -> Iterator[Item]:
        """Yield the known items and compute the others."""
        yield from self._seen
        for item in self._items:
            self._seen.append(item)
            yield item


def input_choices(model: nn.Module, values: Mapping[str, int]) -> Iterator[ModelInputs]:
    """Yield inputs for ``B`` sentences, images or sounds; texts have ``S`` and ``S_d`` tokens.

    ``values`` has a value for each of these letters. The model is on the meta device.

    Raises:
        ValueError: the model needs something that does not follow from its configuration.
    """
    signature = ForwardSignature(model, values)
    makers = {TEXT: _text_forms, IMAGE: image_forms, SOUND: sound_forms, SERIES: series_forms}
    forms = {kind: Remembered(maker(signature)) for kind, maker in makers.items()}
    forms = {kind: found for kind, found in forms.items() if any(True for _ in found)}
    others = Remembered(other_forms(signature))
    in_text = {kind: Remembered(counted(signature, kind, found)) for kind, found in forms.items()}
    alone = {kind: Remembered((form, 0) for form in found) for kind, found in forms.items()}
    more = Remembered((form, 0) for form in others)
    present, has_one = tuple(forms), False
    # All kinds that it takes, all but sound or images, and single ones.
    without = [tuple(kind for kind in present if kind != left) for left in (SOUND, IMAGE)]
    for kinds in dict.fromkeys((present, *without, *((kind,) for kind in present))):
        groups = [(in_text if TEXT in kinds else alone)[kind] for kind in kinds]
        for chosen in islice(_products([more, *groups]), MOST_CHOICES):
            arguments = {name: value for form, _ in chosen for name, value in form.items()}
            counts = {kind: n for kind, (_, n) in zip(("", *kinds), chosen, strict=True) if n}
            if counts and arguments["input_ids"].dim() == 2:
                arguments = with_placeholders(signature, arguments, counts)
            if arguments and signature.required <= arguments.keys():
                has_one = True
                yield ModelInputs({**arguments, **_decoder(signature, arguments)}, kinds)
    if not has_one:
        made = {name for group in (*forms.values(), others) for form in group for name in form}
        lacking = ", ".join(sorted(signature.required - made))
        raise ValueError(
            f"no suitable values are known for {lacking}"
            if lacking
            else "its forward pass accepts no known kind of input"
        )


def _products(groups: Sequence[Iterable[Item]]) -> Iterator[tuple[Item, ...]]:
    """Yield one of each group, as ``itertools.product`` does after it has computed all items."""
    if not groups:
        yield ()
        return
    for first in groups[0]:
        for rest in _products(groups[1:]):
            yield first, *rest


def _text_forms(signature: ForwardSignature) -> Iterator[Form]:
    if "input_ids" not in signature.accepted:
        return
    text = text_inputs(signature.model, signature.values).arguments
    yield text
    codebooks = signature.number("num_codebooks", "num_channels", "n_codes_total")
    if codebooks > 1 and "pixel_values" not in signature.accepted:
        for count in (codebooks, codebooks + 1):
            # Sound as a token of each codebook at each moment.
            for name in ("input_ids", "decoder_input_ids"):
                if name in text:
                    yield {**text, name: text[name].unsqueeze(-1).expand(-1, -1, count)}


def _decoder(signature: ForwardSignature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a decoder, and the arguments that are no tensors."""
    made = plain_arguments(signature.accepted)
    if "decoder_input_ids" in signature.accepted and "input_ids" not in arguments:
        made["decoder_input_ids"] = signature.ids(SENTENCES, TARGET_TOKENS)
    return made
