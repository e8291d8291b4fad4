"""torch's functions by the names that a trace has them by."""

from collections.abc import Callable
from functools import cache
from typing import Any

from bertviewer.core.backend import torch


@cache
def function_of(name: str) -> Callable[..., Any]:
    """Return torch's function of a name, ``torch.Tensor.mT.__get__`` for what is no call in code.

    Raises:
        LookupError: torch has none of that name.
    """
    first, *rest = name.split(".")
    found: Any = torch
    if first != "torch":
        raise LookupError(name)
    for part in rest:
        found = getattr(found, part, None)
        if found is None:
            raise LookupError(name)
    function: Callable[..., Any] = found
    return function
