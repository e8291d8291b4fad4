"""Where a check has crosses, and modules that give something else than they should."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from bertviewer.core.schema.check import Check

Crosses = set[tuple[str, str]]


def crosses(check: Check) -> Crosses:
    return {(step.path, step.step) for step in check.failed}


def other_forward(change: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def hook(_module: nn.Module, _args: Any, output: Any) -> Any:
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    return hook
