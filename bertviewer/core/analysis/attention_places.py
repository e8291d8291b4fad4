"""Which modules are attention whose probabilities can be shown, and which tokens they look at."""

import re
from collections.abc import Iterable

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.modules import ancestors

# The names that the families give to a decoder's attention to the encoder's tokens.
_CROSS = re.compile(r"cross|encoder_attn|EncDecAttention|multihead_attn")


def attention_paths(architecture: Architecture) -> tuple[str, ...]:
    """Return the modules whose attention may be shown, in order: innermost ones of that name.

    ``MultiheadAttention``, ``BertSelfAttention`` and so on are; ``BertAttention``, which adds
    projection, residual and norm around one of them, is not.
    """
    named = [node.path for node in architecture.modules if "Attention" in node.class_name]
    return tuple(path for path in named if not _inside(path, named))


def attentions_at(architecture: Architecture, path: str) -> tuple[str, ...]:
    """Return the attentions that belong to a selected module.

    That is the attention that it is or lies in, or else those in its layer: a decoder's layer
    may have two. Parts of a layer that hold one themselves have just theirs. Modules outside of
    the layers, and those above them, have none.
    """
    every = attention_paths(architecture)
    around = [above for above in ancestors(path) if above in every]
    if around:
        return tuple(around[:1])
    parts = path.split(".")
    numbers = [place for place, part in enumerate(parts) if part.isdecimal()]
    if not numbers:
        return ()
    layer = ".".join(parts[: numbers[0] + 1])
    for above in ancestors(path):
        if found := _inside(above, every):
            return tuple(found)
        if above == layer:
            break
    return ()


def places_of(
    run: ActivationRun, path: str, is_encoder_decoder: bool
) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Return the places of the tokens that ask and of those that are looked at by an attention.

    The last one of the three tells whether they are of two texts: in a decoder's cross-attention.
    """
    every = tuple(range(len(run.tokens)))
    if not is_encoder_decoder:
        return every, every, False
    source, target = (
        tuple(place for place in every if run.tokens[place].segment == segment)
        for segment in (0, 1)
    )
    side = next((part for part in path.split(".") if part in ("encoder", "decoder")), "encoder")
    if side == "encoder":
        return source, source, False
    cross = is_cross(path)
    return target, (source if cross else target), cross


def is_cross(path: str) -> bool:
    """Tell whether an attention beside an encoder's is a decoder's to the encoder's tokens."""
    return _CROSS.search(path.removeprefix("decoder")) is not None


def _inside(path: str, paths: Iterable[str]) -> list[str]:
    prefix = f"{path}." if path else ""
    return [other for other in paths if other.startswith(prefix) and other != path]
