"""Where a check has crosses, and modules that give something else than they should."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from torch import Tensor, nn

from bertviewer.core.graph.module_calls import replacing
from bertviewer.core.schema.check import Check

Crosses = set[tuple[str, str]]


def crosses(check: Check) -> Crosses:
    return {(step.path, step.step) for step in check.crosses}


def other_forward(
    module: nn.Module, change: Callable[[Tensor], Tensor]
) -> AbstractContextManager[None]:
    forward = module.forward

    @wraps(forward)
    def changed(*args: Any, **kwargs: Any) -> Any:
        output = forward(*args, **kwargs)
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    return replacing([(module, changed)])
