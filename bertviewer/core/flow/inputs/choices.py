"""What a model may be called with, the most telling first: the one that it takes is the one.

Names and sizes in a configuration leave open in which order an image's or a sound's dimensions
come. What a model is given wrongly it refuses at its first step, so that trying costs little.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from torch import nn

from bertviewer.core.flow.inputs.forward_signature import Form, ForwardSignature
from bertviewer.core.flow.inputs.images import IMAGE, image_forms
from bertviewer.core.flow.inputs.model_inputs import ModelInputs
from bertviewer.core.flow.inputs.others import other_forms
from bertviewer.core.flow.inputs.placeholders import (
    has_placeholders,
    placeholder_count,
    tells_count,
    with_placeholders,
)
from bertviewer.core.flow.inputs.remembered import Remembered, products_of
from bertviewer.core.flow.inputs.series import SERIES, series_forms
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
            f"nothing tells what to give it as {lacking}"
            if lacking
            else "it has no forward pass that takes anything known here"
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
