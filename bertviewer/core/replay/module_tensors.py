"""The tensors that a module took and gave in a run, seen again by calling its layer once more.

Nothing of them is kept by a run: a call of a layer that is made again gives the same numbers.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

from msgspec import Struct
from torch import Tensor

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.graph.module_calls import Arguments, named_in
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.measuring import left_out
from bertviewer.core.runs.replay import replay_call
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.module_tensor import ModuleTensor, Side, TensorKey
from bertviewer.core.tensors.axes import token_axes
from bertviewer.core.tensors.parameters import from_tensor
from bertviewer.core.tensors.values import NamedValues, Origin
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

Before = TypeVar("Before")
After = TypeVar("After")
Named = dict[str, Tensor]


def values(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    path: str = "",
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> tuple[Named, Named]:
    """Return what the module at ``path`` took and what it gave in a run, by name.

    They are copies on the CPU, of the model's own dtype and with the batch of 1: equal, bit by
    bit, to what a forward hook on the module sees. Arguments are named as ``forward`` names them.
    An output that is a single tensor is called ``output``, those of a tuple ``output.0`` and so
    on, and those of a mapping as in there. ``call`` chooses one of the calls of a shared layer.

    Raises:
        UserError: the run did not call the module, or it cannot be called again.
        IndexError: there was no such call.
        Cancelled: ``progress`` said so.
    """

    def copies(found: Iterator[tuple[str, Tensor]]) -> Named:
        return {name: tensor.detach().cpu().clone() for name, tensor in found}

    taken, given = _Look(model, run, kept, path, progress, call).at(copies, copies)
    return taken, given or {}


def seen_tensors(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    path: str,
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> tuple[ModuleTensor, ...]:
    """Return what there is to see of one call of a module, what it took first; no values.

    Raises:
        UserError: the run did not call the module, or it cannot be called again.
        IndexError: there was no such call.
        Cancelled: ``progress`` said so.
    """
    letters = _Letters(model.architecture, run, path)

    def described(side: Side, found: Iterator[tuple[str, Tensor]]) -> list[ModuleTensor]:
        return [
            _described(TensorKey(side, name), tensor, letters, is_first=not number)
            for number, (name, tensor) in enumerate(found)
        ]

    look = _Look(model, run, kept, path, progress, call)
    taken, given = look.at(partial(described, "input"), partial(described, "output"))
    return (*taken, *(given or ()))


def seen_values(  # noqa: PLR0917
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    path: str,
    key: TensorKey,
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> NamedValues:
    """Return the values of one tensor that a module took or gave, with its rows' tokens.

    They are a copy: no larger tensor that it was a part of is kept alive.

    Raises:
        UserError: the run did not call the module, it has no such tensor, or one that holds no
            plain numbers.
        IndexError: there was no such call.
        Cancelled: ``progress`` said so.
    """

    def pick(found: Iterator[tuple[str, Tensor]]) -> Tensor | None:
        return next((tensor.detach() for name, tensor in found if name == key.name), None)

    is_taken = key.side == "input"
    look = _Look(model, run, kept, path, progress, call)
    taken, given = look.at(pick, None if is_taken else pick)
    tensor = taken if is_taken else given
    where = path or "the model"
    if tensor is None:
        raise UserError(
            f"{where} has no {'input' if is_taken else 'output'} tensor {key.name!r} in this call"
        )
    if kind := left_out(tensor):
        raise UserError(f"{where}: {key.name} is {kind}, so its elements cannot be shown")
    is_random = run.source.weights == "random"
    origin = Origin("run", key=path, of_random=is_random)
    # What was taken may be what the run keeps, which no later call shall change.
    found = from_tensor(key.name, tensor.cpu().clone(), origin)
    axes = token_axes(run, model.architecture, path, key.name, found.shape, found.dtype)
    return NamedValues(found, axes, _metadata(run, path, key, call))


class _Look(Struct, frozen=True):
    """A call of a module in a run, to be looked at once more."""

    model: LoadedModel
    run: ActivationRun
    kept: ActivationCache
    path: str
    progress: Progress
    call: int

    def at(
        self,
        before: Callable[[Iterator[tuple[str, Tensor]]], Before],
        after: Callable[[Iterator[tuple[str, Tensor]]], After] | None,
    ) -> tuple[Before, After | None]:
        """Return what is made of the tensors that it took and of those that it gave."""
        activation = self.run.activation(self.path)
        if activation is None:
            where = self.path or "the model"
            raise UserError(f"{where} was not called in this run or returned no tensor")
        count = len(activation.calls)
        forward = self.model.running_module.get_submodule(self.path).forward
        return replay_call(
            self.model,
            self.kept,
            self.path,
            lambda arguments: before(_taken(signature(forward), arguments)),
            None if after is None else lambda output: after(_given(output)),
            self.progress,
            number=range(count)[self.call],
            count=count,
        )


def _taken(known: Signature, arguments: Arguments) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors among a call's arguments by the names that ``forward`` gives them."""
    args, kwargs = arguments
    try:
        bound = dict(known.bind_partial(*args, **kwargs).arguments)
    except TypeError:  # what stands in for a forward may have another signature
        bound = {str(place): value for place, value in enumerate(args)} | kwargs
    for name, value in bound.items():
        parameter = known.parameters.get(name)
        more = parameter is not None and parameter.kind is Parameter.VAR_KEYWORD
        yield from named_in(value, "" if more else name)


def _given(output: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of an output by name."""
    return named_in(output, "" if isinstance(output, Mapping) else "output")


def _described(
    key: TensorKey, tensor: Tensor, letters: "_Letters", *, is_first: bool
) -> ModuleTensor:
    kind = left_out(tensor)
    shape = () if tensor.is_nested else tuple(tensor.shape)
    dtype = str(tensor.dtype).removeprefix("torch.")
    symbolic = letters.of(key.side, shape, is_first=is_first)
    return ModuleTensor(key, shape, dtype, symbolic, kind)


class _Letters:
    """Writes the shapes of what a module took and gave in the letters of its model."""

    def __init__(self, architecture: Architecture, run: ActivationRun, path: str) -> None:
        costs = architecture.costs
        self._found = None if costs is None else costs.modules.get(path)
        self._values = bindings(architecture, run)

    def of(self, side: Side, shape: tuple[int, ...], *, is_first: bool) -> tuple[str, ...] | None:
        """Return the shape as its formulas say it, else with the letters that are sure."""
        if is_first and self._found is not None:
            found = self._found.input_shape if side == "input" else self._found.output_shape
            if found is not None and self._gives(found, shape):
                return found
        letters = tuple(self._letter(size) for size in shape)
        return None if all(map(str.isdecimal, letters)) else letters

    def _gives(self, formulas: tuple[str, ...], shape: tuple[int, ...]) -> bool:
        try:
            return tuple(evaluate(size, self._values) for size in formulas) == shape
        except FormulaError:
            return False

    def _letter(self, size: int) -> str:
        """Return the one letter that has this value, if it is the tokens' or the states'."""
        same = [letter for letter, value in self._values.items() if value == size]
        is_sure = len(same) == 1 and same[0] in ("S", "S_d", "D") and size > 1
        return same[0] if is_sure else str(size)


def _metadata(run: ActivationRun, path: str, key: TensorKey, call: int) -> Mapping[str, str]:
    """Return what a file has to say of values that it takes along."""
    pair = {} if run.sentence.pair is None else {"pair": run.sentence.pair}
    return {
        "model": run.source.name,
        "task": run.source.task,
        "weights": run.source.weights,
        "module": path,
        "call": str(call),
        "side": key.side,
        "tensor": key.name,
        "sentence": run.sentence.text,
        **pair,
        "tokens": json.dumps([token.text for token in run.tokens], ensure_ascii=False),
    }
