"""Carries out in float64 what a model calculates, beside the model itself.

The model goes on in its own dtype and decides all that is decided: which expert, which bucket, how
many rounds of a loop. In float64 a choice between two that are nearly equal may fall the other way,
and then nothing could be compared any more. What is a number, and no choice, is calculated once
more from float64 by the same function of torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from bertviewer.core.flow.float64_functions import (
    DECIDES,
    IN_FLOAT64,
    has_fraction,
    unit,
    wide,
    widened,
)
from bertviewer.core.flow.nested_tensors import memory_of, tensors_in
from bertviewer.core.flow.tracing import name_of

_PICKS = frozenset(("embedding", "index_select", "__getitem__"))
"""What takes numbers out of a table as they are: the table need not be brought into float64."""

_SORTS = frozenset(("sort", "argsort", "topk"))


class NoNumbersError(Exception):
    """A tensor without numbers, on the meta device, was calculated with.

    torch lets some functions do so, and what they give is what happens to be in memory.
    """


@dataclass(slots=True)
class CallRecord:
    """What was noticed while one call of a module was at work.

    Attributes:
        coarsest: the dtype that rounded the most, ``None`` if nothing was calculated.
        problem: why it could not all be carried out in float64, "" if it was.
        sorted: whole numbers that were sorted, in their new order.
    """

    coarsest: torch.dtype | None = None
    problem: str = ""
    sorted: list[Tensor] = field(default_factory=list)

    def note(self, dtype: torch.dtype) -> None:
        """Note a dtype that a result has."""
        if self.coarsest is None or unit(dtype) > unit(self.coarsest):
            self.coarsest = dtype

    def fail(self, problem: str) -> None:
        """Note a problem; the first one counts."""
        self.problem = self.problem or problem


@dataclass(slots=True)
class _Beside:
    """What belongs to a tensor; without ``exact`` its own numbers are exact."""

    exact: Tensor | None = None
    is_given: bool = False


class Float64Shadow(TorchFunctionMode):
    """Follows what the model does inside the ``with`` while it has an ``record`` to note it in.

    What the model writes to its own parameters is left out: it did so in the run already, and
    they are as they are after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.record: CallRecord | None = None
        self._beside = WeakTensorKeyDictionary()

    def give(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the same numbers that is given to a module, and not calculated."""
        if isinstance(tensor, nn.Parameter):
            return tensor
        given = tensor.detach().clone()  # it may be written to
        self._beside[given] = _Beside(is_given=True)
        return given

    def is_given(self, tensor: Tensor) -> bool | None:
        """Tell whether a tensor was given or calculated; ``None`` if it is from elsewhere."""
        beside = self._known(tensor)
        return None if beside is None else beside.is_given

    def exact(self, tensor: Tensor) -> Tensor:
        """Return a tensor as it is in float64; one of whole numbers as it is."""
        if not has_fraction(tensor):
            return tensor
        beside = self._known(tensor)
        if beside is None:
            return widened(tensor)
        if beside.exact is None:
            # Kept, so that views of it are views of one and the same memory.
            beside.exact = widened(tensor)
        return beside.exact

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation as the model does, and then in float64."""
        kwargs = kwargs or {}
        name, may_write = name_of(func)
        written = _written(args, kwargs) if may_write or _OUTPUTS & kwargs.keys() else ()
        if any(isinstance(tensor, nn.Parameter) for tensor in written):
            return args[0]
        is_without_numbers = any(tensor.is_meta for tensor in tensors_in((args, kwargs)))
        if written and is_without_numbers:
            raise NoNumbersError(name)
        if written and self.record is not None:
            return self._write(func, name, args, kwargs, written)
        output = func(*args, **kwargs)
        if results := tensors_in(output):
            if is_without_numbers:
                raise NoNumbersError(name)
            if self.record is not None:
                self._follow(func, name, args, kwargs, results)
        return output

    def _follow(
        self,
        func: Any,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        results: Sequence[Tensor],
    ) -> None:
        taken = tensors_in((args, kwargs))
        is_sort = name.rpartition(".")[2] in _SORTS and taken[0].dim() == 1
        if self.record and is_sort and not has_fraction(taken[0]):
            self.record.sorted.append(taken[0][results[-1]])
        new = [not any(result is it for it in taken) for result in results]
        if self._is_as_it_was(name, taken, results):
            found: list[Tensor | None] = [None] * len(results)
        else:
            found = self._carried(func, name, args, kwargs, results)
        for result, exact, is_new in zip(results, found, new, strict=True):
            # What is handed on as it was taken stays what it was.
            if is_new:
                self._beside[result] = _Beside(exact)

    def _is_as_it_was(self, name: str, taken: Sequence[Tensor], results: Sequence[Tensor]) -> bool:
        """Tell whether the numbers of a result are their own float64, so that none is made."""
        if not any(map(has_fraction, results)):
            return True
        if any(self._known(tensor) is not None for tensor in taken if has_fraction(tensor)):
            return False
        memories = {memory_of(tensor) for tensor in taken}
        is_view = all(memory_of(result) in memories for result in results)
        return is_view or name.rpartition(".")[2] in _PICKS

    def _carried(
        self,
        func: Any,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        results: Sequence[Tensor],
    ) -> list[Tensor | None]:
        """Return each result as it is in float64, or nothing where it is so itself."""
        nothing: list[Tensor | None] = [None] * len(results)
        short = name.rpartition(".")[2]
        for result in results:
            if has_fraction(result):
                self._noted(result.dtype)
        if short in DECIDES or not any(map(has_fraction, tensors_in((args, kwargs)))):
            # Numbers that are made of whole ones alone are copied, as they may be written to.
            return [widened(result) if has_fraction(result) else None for result in results]
        operands = self._widened_in(args), self._widened_in(kwargs)
        output = self._again(func, name, *operands)
        exact = tensors_in(output)
        if len(exact) != len(results):
            self._fail(short)
            return nothing
        before = {id(tensor) for tensor in tensors_in(operands)}
        found = list(nothing)
        for place, (result, number) in enumerate(zip(results, exact, strict=True)):
            if not has_fraction(result):
                continue
            if number.shape != result.shape or not has_fraction(number):
                self._fail(short)
            elif id(number) in before or number.dtype != wide(number.dtype):
                # A cast makes a copy for the model, and none of what is in float64 already.
                found[place] = widened(number)
            else:
                found[place] = number
        return found

    def _write(
        self,
        func: Any,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        written: Sequence[Tensor],
    ) -> Any:
        """Carry out what writes in place, in both memories."""
        numbers = [tensor for tensor in written if has_fraction(tensor)]
        operands = None
        if len(numbers) == len(written):
            for tensor in numbers:
                if self._known(tensor) is None:
                    self._beside[tensor] = _Beside(widened(tensor))
            operands = self._widened_in(args), self._widened_in(kwargs)
        output = func(*args, **kwargs)
        for tensor in written:
            beside = self._known(tensor)
            self._beside[tensor] = _Beside(None if beside is None else beside.exact)
        for tensor in numbers:
            self._noted(tensor.dtype)
        if operands is not None:
            self._again(func, name, *operands)
        return output

    def _again(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        short = name.rpartition(".")[2]
        try:
            return IN_FLOAT64.get(short, func)(*args, **kwargs)
        except Exception:  # noqa: BLE001 - what torch cannot do it tells by any kind of error
            self._fail(short)
            return None

    def _fail(self, short: str) -> None:
        if self.record is not None:
            self.record.fail(f"{short} cannot be computed in float64")

    def _noted(self, dtype: torch.dtype) -> None:
        if self.record is not None:
            self.record.note(dtype)

    def _known(self, tensor: Tensor) -> _Beside | None:
        found: _Beside | None = self._beside.get(tensor)  # type: ignore[no-untyped-call]
        return found

    def _widened_in(self, value: Any) -> Any:
        """Return operands with all that has a fraction in float64, and so the dtypes asked for."""
        if isinstance(value, Tensor):
            return self.exact(value)
        if isinstance(value, torch.dtype):
            return wide(value)
        if isinstance(value, Mapping):
            return {key: self._widened_in(item) for key, item in value.items()}
        if isinstance(value, tuple | list) and not isinstance(value, torch.Size):
            return type(value)([self._widened_in(item) for item in value])
        return value


_OUTPUTS = frozenset(("out", "inplace"))


def _written(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """Return what an operation writes to: its first operand, or what it is given for that."""
    if kwargs.get("out") is not None:
        return tuple(tensors_in(kwargs["out"]))
    if kwargs.get("inplace") is False:
        return ()
    return tuple(tensors_in(args[:1]))
