"""Possible inputs of a model, likely ones first.

A configuration does not determine the order of an image's or a sound's dimensions. A model rejects
wrong inputs in its first operations, so that trying costs little.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from bertviewer.core.expressions.symbols import SENTENCES, TARGET_TOKENS
from bertviewer.core.graph.inputs.media import (
    IMAGE,
    SERIES,
    SOUND,
    image_forms,
    other_forms,
    series_forms,
    sound_forms,
)
from bertviewer.core.graph.inputs.signature import (
    TEXT,
    Form,
    ForwardSignature,
    ModelInputs,
    plain_arguments,
    text_inputs,
)
from bertviewer.core.graph.meta_device import known_on_meta
from bertviewer.core.graph.module_calls import tensors_in
from bertviewer.core.util.errors import Stopped

MAX_CHOICES = 24
"""Limit of combinations of the same kinds of inputs."""

_METHODS = {IMAGE: ("get_image_features", "get_video_features"), SOUND: ("get_audio_features",)}
"""Methods that compute the vectors which replace the placeholder tokens of images or sound."""

_TOKENS = {
    IMAGE: ("image_token_id", "image_token_index", "video_token_id", "video_token_index"),
    SOUND: ("audio_token_id", "audio_token_index"),
}
_STARTS = {
    IMAGE: ("vision_start_token_id", "image_start_token_id", "boi_token_id"),
    SOUND: ("audio_start_token_id", "audio_bos_token_id", "boa_token_id"),
}
_TYPES = {IMAGE: 1, SOUND: 3}
"""The ``mm_token_type_ids`` of placeholder tokens."""

_Counted = list[tuple[Form, int]]
"""Forms, each with the number of placeholder tokens for it."""


def input_choices(model: nn.Module, values: Mapping[str, int]) -> Iterator[ModelInputs]:
    """Yield inputs for ``B`` sentences, images or sounds; texts have ``S`` and ``S_d`` tokens.

    Args:
        model: on the meta device.
        values: of these symbols.

    Raises:
        ValueError: the configuration does not determine a required argument.
    """
    signature = ForwardSignature(model, values)
    makers = {TEXT: _text_forms, IMAGE: image_forms, SOUND: sound_forms, SERIES: series_forms}
    forms = {kind: found for kind, maker in makers.items() if (found := list(maker(signature)))}
    others = list(other_forms(signature))
    alone = {kind: [(form, 0) for form in found] for kind, found in forms.items()}
    in_text = {
        kind: _counted(signature, kind, found) if TEXT in forms else alone[kind]
        for kind, found in forms.items()
    }
    present, has_one = tuple(forms), False
    # All accepted kinds, all but sound or images, and single ones.
    without = [tuple(kind for kind in present if kind != left) for left in (SOUND, IMAGE)]
    for kinds in dict.fromkeys((present, *without, *((kind,) for kind in present))):
        groups = [(in_text if TEXT in kinds else alone)[kind] for kind in kinds]
        more = [(form, 0) for form in others]
        for chosen in islice(product(more, *groups), MAX_CHOICES):
            arguments = {name: value for form, _ in chosen for name, value in form.items()}
            counts = {kind: n for kind, (_, n) in zip(("", *kinds), chosen, strict=True) if n}
            if counts and arguments["input_ids"].dim() == 2:
                arguments = _with_placeholders(signature, arguments, counts)
            if arguments and signature.required <= arguments.keys():
                has_one = True
                if "decoder_input_ids" in signature.accepted and "input_ids" not in arguments:
                    arguments["decoder_input_ids"] = signature.ids(SENTENCES, TARGET_TOKENS)
                arguments |= plain_arguments(signature.accepted)
                yield ModelInputs(tree_map_only(Tensor, _own, arguments), kinds)
    if not has_one:
        made = {name for group in (*forms.values(), others) for form in group for name in form}
        lacking = ", ".join(sorted(signature.required - made))
        raise ValueError(
            f"no suitable values are known for {lacking}"
            if lacking
            else "its forward pass accepts no known kind of input"
        )


def _own(tensor: Tensor) -> Tensor:
    """Return a copy that a model may write to, except of large tensors, which share memory."""
    return tensor.clone() if tensor.is_contiguous() else tensor


def _text_forms(signature: ForwardSignature) -> Iterator[Form]:
    if "input_ids" not in signature.accepted:
        return
    text = text_inputs(signature.model, signature.values).arguments
    yield text
    codebooks = signature.number("num_codebooks", "num_channels", "n_codes_total")
    if codebooks > 1 and "pixel_values" not in signature.accepted:
        for count in (codebooks, codebooks + 1):
            # Sound as one token of each codebook at each time.
            for name in ("input_ids", "decoder_input_ids"):
                if name in text:
                    yield {**text, name: text[name].unsqueeze(-1).expand(-1, -1, count)}


def _counted(signature: ForwardSignature, kind: str, forms: Sequence[Form]) -> _Counted:
    """Return forms of a kind, each with the number of placeholder tokens for it.

    If a method computes the vectors of an image or sound, their number is that of the first form
    that it accepts, and only this form is returned.
    """
    if kind not in _TOKENS or not signature.number(*_TOKENS[kind]):
        return [(form, 0) for form in forms]
    names = _METHODS[kind] if "pixel_values" in signature.accepted else _METHODS[kind][-1:]
    methods = [getattr(signature.model, name) for name in names if hasattr(signature.model, name)]
    if not methods:
        return [(form, count) for form in forms for count in (1, 0)]
    accepted = inspect.signature(methods[0]).parameters
    for form in forms:
        given = {name: form[name] for name in form if name in accepted}
        inputs = ModelInputs(given, ()).on_meta()
        try:
            with known_on_meta(inputs.known, lambda _: None):
                output = methods[0](**inputs.arguments)
            features = tensors_in(getattr(output, "pooler_output", output))
            count = sum(each.numel() // each.shape[-1] for each in features)
        except Stopped:
            raise
        except Exception:  # noqa: BLE001 - a model refuses a form with any kind of error
            continue
        return [(form, count // signature.count)]
    return []


def _with_placeholders(
    signature: ForwardSignature, text: Form, counts: Mapping[str, int]
) -> dict[str, Any]:
    """Return a text's arguments with placeholder tokens for other kinds of inputs."""
    ids: Tensor = text["input_ids"]
    types = torch.zeros_like(ids)
    for kind, count in counts.items():
        token, start = (signature.number(*keys[kind]) for keys in (_TOKENS, _STARTS))
        rows = torch.tensor([*([start] if start else ()), *[token] * count]).expand(len(ids), -1)
        ids = torch.cat((ids[:, :1], rows, ids[:, 1:]), dim=1)
        types = torch.cat((types[:, :1], (rows == token) * _TYPES[kind], types[:, 1:]), dim=1)
    made = {**text, "input_ids": ids}
    if "attention_mask" in made:
        made["attention_mask"] = torch.ones_like(ids)
    if "token_type_ids" in made:
        made["token_type_ids"] = torch.zeros_like(ids)
    elif "token_type_ids" in signature.accepted:
        made["token_type_ids"] = (types > 0).long()
    names = ("mm_token_type_ids", "moe_mm_token_type_ids")
    return {**made, **{name: types for name in names if name in signature.accepted}}
