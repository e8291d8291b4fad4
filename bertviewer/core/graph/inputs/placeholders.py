"""Tokens that represent an image or a sound in a text: as many as the model makes of it."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.errors import Stopped
from bertviewer.core.graph.inputs.forward_signature import Form, ForwardSignature
from bertviewer.core.graph.inputs.images import IMAGE
from bertviewer.core.graph.inputs.model_inputs import ModelInputs
from bertviewer.core.graph.inputs.sounds import SOUND
from bertviewer.core.graph.meta_device import known_on_meta
from bertviewer.core.graph.nested_tensors import tensors_in

_METHODS = {IMAGE: ("get_image_features", "get_video_features"), SOUND: ("get_audio_features",)}
_TOKENS = {
    IMAGE: ("image_token_id", "image_token_index", "video_token_id", "video_token_index"),
    SOUND: ("audio_token_id", "audio_token_index"),
}
_STARTS = {
    IMAGE: ("vision_start_token_id", "image_start_token_id", "boi_token_id"),
    SOUND: ("audio_start_token_id", "audio_bos_token_id", "boa_token_id"),
}
_TYPES = {IMAGE: 1, SOUND: 3}
"""The ``mm_token_type_ids`` of the tokens."""


def counted(
    signature: ForwardSignature, kind: str, forms: Iterable[Form]
) -> Iterator[tuple[Form, int]]:
    """Yield forms of a kind, each with the number of tokens in a sentence that represent it.

    A model that can compute an image or a sound alone decides the number; only the first form
    that it accepts is yielded then.
    """
    if kind not in _TOKENS or not signature.number(*_TOKENS[kind]):
        yield from ((form, 0) for form in forms)
        return
    names = _METHODS[kind] if "pixel_values" in signature.accepted else _METHODS[kind][-1:]
    methods = [getattr(signature.model, name) for name in names if hasattr(signature.model, name)]
    if not methods:
        yield from ((form, count) for form in forms for count in (1, 0))
        return
    for form in forms:
        try:
            count = _count(methods[0], form)
        except Stopped:
            raise
        except Exception:  # noqa: BLE001 - a model refuses a form with any kind of error
            continue
        yield form, count // signature.count
        return


def _count(method: Any, form: Form) -> int:
    """Return the number of vectors that a model makes of all images or sounds."""
    accepted = inspect.signature(method).parameters
    inputs = ModelInputs({name: form[name] for name in form if name in accepted}, ()).on_meta()
    with known_on_meta(inputs.known, lambda _: None):
        output = method(**inputs.arguments)
    features = tensors_in(getattr(output, "pooler_output", output))
    return sum(each.numel() // each.shape[-1] for each in features)


def with_placeholders(
    signature: ForwardSignature, text: Form, counts: Mapping[str, int]
) -> dict[str, Any]:
    """Return a text's arguments with additional tokens, so many for each kind of input."""
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
