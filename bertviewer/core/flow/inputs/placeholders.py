"""Tokens that stand for an image or a sound in a text: as many as the model makes of it."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from bertviewer.core.flow.inputs.forward_signature import Form, ForwardSignature
from bertviewer.core.flow.inputs.images import IMAGE
from bertviewer.core.flow.inputs.literals import known_on_meta
from bertviewer.core.flow.inputs.model_inputs import ModelInputs
from bertviewer.core.flow.inputs.sizes import number
from bertviewer.core.flow.inputs.sounds import SOUND
from bertviewer.core.flow.inputs.texts import SENTENCES

_METHODS = {
    IMAGE: ("get_image_features", "get_video_features"),
    SOUND: ("get_audio_features",),
}
_TOKENS = {
    IMAGE: ("image_token_id", "image_token_index", "video_token_id", "video_token_index"),
    SOUND: ("audio_token_id", "audio_token_index"),
}
_STARTS = {
    IMAGE: ("vision_start_token_id", "image_start_token_id", "boi_token_id"),
    SOUND: ("audio_start_token_id", "audio_bos_token_id", "boa_token_id"),
}
_TYPES = {IMAGE: 1, SOUND: 3}
"""What ``mm_token_type_ids`` says of a token."""


def has_placeholders(signature: ForwardSignature, kind: str) -> bool:
    """Tell whether a model puts what it makes of an image or a sound in the place of tokens."""
    return kind in _TOKENS and bool(number(signature.config, _TOKENS[kind]))


def tells_count(signature: ForwardSignature, kind: str) -> bool:
    """Tell whether a model can be asked what it makes of an image or a sound alone."""
    return _method(signature, kind) is not None


def placeholder_count(signature: ForwardSignature, kind: str, form: Form) -> int:
    """Return how many tokens stand for an image or a sound in each sentence.

    Raises:
        Exception: whatever the model raises if it does not take the form.
    """
    method = _method(signature, kind)
    accepted = inspect.signature(method).parameters
    inputs = ModelInputs({name: form[name] for name in form if name in accepted}, ()).on_meta()
    with known_on_meta(inputs, lambda _: None):
        output = method(**inputs.arguments)
    features = getattr(output, "pooler_output", output)
    sizes = [leaf.shape for leaf in tree_leaves(features) if isinstance(leaf, Tensor)]
    count = sum(size.numel() // size[-1] for size in sizes)
    return count // signature.values[SENTENCES]


def with_placeholders(
    signature: ForwardSignature, text: Form, counts: Mapping[str, int]
) -> dict[str, Any]:
    """Return a text's arguments with so many tokens more for each image and sound in it."""
    made = dict(text)
    ids: Tensor = made["input_ids"]
    types = torch.zeros_like(ids)
    for kind, count in counts.items():
        token = number(signature.config, _TOKENS[kind])
        start = number(signature.config, _STARTS[kind])
        row = torch.tensor([*([start] if start else ()), *[token] * count])
        rows = row.expand(len(ids), -1)
        ids = torch.cat((ids[:, :1], rows, ids[:, 1:]), dim=1)
        of_kind = (rows == token) * _TYPES[kind]
        types = torch.cat((types[:, :1], of_kind, types[:, 1:]), dim=1)
    made["input_ids"] = ids
    if "attention_mask" in made:
        made["attention_mask"] = torch.ones_like(ids)
    if "token_type_ids" in made:
        made["token_type_ids"] = torch.zeros_like(ids)
    elif "token_type_ids" in signature.accepted:
        made["token_type_ids"] = (types > 0).long()
    for name in ("mm_token_type_ids", "moe_mm_token_type_ids"):
        if name in signature.accepted:
            made[name] = types
    return made


def _method(signature: ForwardSignature, kind: str) -> Any:
    names = _METHODS[kind] if "pixel_values" in signature.accepted else _METHODS[kind][-1:]
    return next(
        (getattr(signature.model, name) for name in names if hasattr(signature.model, name)), None
    )
