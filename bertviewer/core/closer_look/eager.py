"""Lets a model calculate its attention step by step, in the way that shows its probabilities."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bertviewer.core.checking.other_attention import EAGER


@contextmanager
def eager(module: Any) -> Iterator[None]:
    """Have a model of transformers use its eager attention inside the ``with``."""
    used = getattr(getattr(module, "config", None), "_attn_implementation", None)
    if used in (None, EAGER):
        yield
        return
    try:
        module.set_attn_implementation(EAGER)
        yield
    finally:
        module.set_attn_implementation(used)
