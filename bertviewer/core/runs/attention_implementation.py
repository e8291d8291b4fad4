"""Lets a model calculate its attention step by step, in the way that shows its probabilities."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

EAGER = "eager"
_ROUNDINGS = 1e4
"""So many epsilons of the dtype, in parts of the norm."""


@contextmanager
def eager(module: Any) -> Iterator[bool]:
    """Have a model of transformers use its eager attention inside the ``with``.

    Yields whether transformers did not switch by itself: what the model gives then has to be
    compared with what it gives otherwise.
    """
    used = getattr(getattr(module, "config", None), "_attn_implementation", None)
    if used in (None, EAGER):
        yield False
        return
    configs = {id(config): config for config in map(_config_of, module.modules())}
    before = [(config, config._attn_implementation) for config in configs.values() if config]
    try:
        module.set_attn_implementation(EAGER)
        is_forced = module.config._attn_implementation != EAGER
        if is_forced:
            # Some models ask their configuration in every call, and transformers does not know
            # that they would (Falcon): it logs a warning and changes nothing.
            for config, _ in before:
                config._attn_implementation = EAGER
        yield is_forced
    finally:
        module.set_attn_implementation(used)
        for config, implementation in before:
            config._attn_implementation = implementation


def is_close(one: Any, other: Any) -> bool:
    """Tell whether two ways to calculate a tensor gave the same numbers, but for roundings.

    Roundings of float32 add up over the layers to a millionth or so of the norm, those of 16 bits
    to some percent. A mask that was left out, or a bias that was added twice, makes more.
    """
    room = min(0.1, max(1e-6, _ROUNDINGS * torch.finfo(one.dtype).eps))
    if one.shape != other.shape:
        return False
    one, other = (tensor.detach().cpu().double() for tensor in (one, other))
    return bool((one - other).norm() <= room * other.norm()) or not bool(other.isfinite().all())


def _config_of(module: Any) -> Any:
    config = getattr(module, "config", None)
    return config if hasattr(config, "_attn_implementation") else None
