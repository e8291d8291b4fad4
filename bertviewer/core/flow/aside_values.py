"""The values of masks, worked out from a trace: they hang on no weight and no text.

What a mask lets through is seen in its values alone: models write it in a dozen ways.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from bertviewer.core.backend import torch
from bertviewer.core.flow.graph import ASIDE, Graph
from bertviewer.core.flow.trace import Argument, Listed, Operation, Ref, Slice, Word


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


_FAILURES = (LookupError, TypeError, ValueError, RuntimeError, AttributeError, NotImplementedError)
"""What torch raises where a word of a trace is none that it takes."""


class AsideValues:
    """Works out values that follow from masks of ones and from numbers in the code."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[int, torch.Tensor | None] = {}

    def of(self, value: int) -> torch.Tensor | None:
        """Return a value, ``None`` where it hangs on more than that."""
        waiting = [value]
        while waiting:
            number = waiting[-1]
            lacking = [each for each in self._needed(number) if each not in self._known]
            if lacking and number not in self._known:
                waiting += lacking
                continue
            waiting.pop()
            if number not in self._known:
                self._work_out(number)
        return self._known[value]

    def _needed(self, value: int) -> tuple[int, ...]:
        maker = self._graph.trace.maker.get(value)
        if maker is None or self._graph.level[value] != ASIDE:
            return ()
        return tuple(each for each in self._graph.trace.operations[maker].reads if each != value)

    def _work_out(self, value: int) -> None:
        self._known[value] = None
        stored = self._graph.value(value)
        if self._graph.level[value] != ASIDE:
            # Of it the sizes alone may be taken.
            self._known[value] = torch.zeros(stored.shape)
        elif (maker := self._graph.trace.maker.get(value)) is not None:
            try:
                self._carry_out(self._graph.trace.operations[maker])
            except _FAILURES:
                return
        elif stored.kind == "input":
            self._known[value] = torch.ones(stored.shape, dtype=getattr(torch, stored.dtype))

    def _carry_out(self, operation: Operation) -> None:
        taken: dict[int, torch.Tensor] = {}
        arguments = [self._argument(arg, taken) for arg in operation.args]
        named = {name: self._argument(arg, taken) for name, arg in operation.kwargs}
        given = function_of(operation.function)(*arguments, **named)
        results = given if isinstance(given, tuple | list) else (given,)
        for value, result in zip(operation.results, results, strict=False):
            if isinstance(result, torch.Tensor):
                self._known[value] = result
        for old, new in operation.rewritten:
            # What another name of the same memory holds is not known.
            self._known[new] = taken.get(old)

    def _argument(self, operand: Argument, taken: dict[int, torch.Tensor]) -> object:
        if isinstance(operand, Ref):
            found = self._known.get(operand.value)
            if found is None:
                raise LookupError(operand.value)
            taken[operand.value] = found.clone()
            return taken[operand.value]
        if isinstance(operand, tuple):
            return tuple(self._argument(item, taken) for item in operand)
        if isinstance(operand, Listed):
            return [self._argument(item, taken) for item in operand.items]
        if isinstance(operand, Slice):
            parts = (operand.start, operand.stop, operand.step)
            return slice(*(self._argument(part, taken) for part in parts))
        if isinstance(operand, Word):
            if operand.kind == "dtype":
                return getattr(torch, operand.text.removeprefix("torch."))
            if operand.kind == "ellipsis":
                return ...
            return torch.device("cpu")
        return operand


def is_causal(mask: torch.Tensor) -> bool:
    """Tell whether a mask [..., S, S] lets each token see itself and nothing that comes after."""
    if mask.dim() < 2 or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 2:
        return False
    rows = mask.reshape(-1, *mask.shape[-2:])[0]
    if rows.dtype == torch.bool:
        seen = rows
    elif rows.is_floating_point():
        seen = rows > torch.finfo(rows.dtype).min / 2
    else:
        return False
    after = seen.triu(1)
    return not bool(after.any()) and bool(seen.diagonal().all())
