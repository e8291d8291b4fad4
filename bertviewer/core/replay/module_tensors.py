"""The input and output tensors of a module in a run, from replaying one of its calls."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

from torch import Tensor

from bertviewer.core.expressions.evaluation import FormulaError, evaluate
from bertviewer.core.graph.module_calls import Arguments, named_in
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.runs.measuring import skip_reason
from bertviewer.core.runs.module_replay import replay_call
from bertviewer.core.schema.activation_run import ActivationRun, ModuleTensor, Side, TensorKey
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.tensors.axes import token_axes
from bertviewer.core.tensors.parameters import from_tensor
from bertviewer.core.tensors.reduction import Corner, corner_of
from bertviewer.core.tensors.values import NamedValues, Origin
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

Before = TypeVar("Before")
After = TypeVar("After")
NamedTensors = Iterator[tuple[str, Tensor]]
TensorsByName = dict[str, Tensor]


def module_tensors(
    cached: CachedRun,
    path: str = "",
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> tuple[TensorsByName, TensorsByName]:
    """Return the inputs and the outputs of the module at ``path`` in a run, by name.

    They are copies on the CPU, in the model's dtype, with the batch dimension of 1: bit-identical
    to what a forward hook on the module gets. Inputs are named after ``forward``'s parameters. An
    output that is a single tensor is called ``output``, those of a tuple ``output.0`` and so on,
    and those of a mapping by their keys. ``call`` chooses one of the calls of a shared layer.

    Raises:
        UserError: the run did not call the module, or it cannot be called again.
        IndexError: there was no such call.
        Cancelled: by ``progress``.
    """

    def copies(found: NamedTensors) -> TensorsByName:
        return {name: tensor.detach().cpu().clone() for name, tensor in found}

    inputs, outputs = _replayed(cached, path, progress, call, copies, copies)
    return inputs, outputs or {}


def list_tensors(
    cached: CachedRun,
    path: str,
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> tuple[ModuleTensor, ...]:
    """Return descriptions of the inputs and outputs of one call of a module.

    Raises:
        As ``module_tensors``.
    """
    symbols = _SymbolicShapes(cached.model.architecture, cached.run, path)

    def described(side: Side, found: NamedTensors) -> list[ModuleTensor]:
        return [
            _described(TensorKey(side, name), tensor, symbols, is_first=not number)
            for number, (name, tensor) in enumerate(found)
        ]

    before, after = partial(described, "input"), partial(described, "output")
    inputs, outputs = _replayed(cached, path, progress, call, before, after)
    return (*inputs, *(outputs or ()))


def values_of(
    cached: CachedRun,
    path: str,
    key: TensorKey,
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> NamedValues:
    """Return a copy of the values of one input or output, with the tokens of its rows.

    Raises:
        UserError: the run did not call the module, or this call has no such tensor of plain
            numbers.
        IndexError: there was no such call.
        Cancelled: by ``progress``.
    """

    def pick(found: NamedTensors) -> Tensor | None:
        return next((tensor.detach() for name, tensor in found if name == key.name), None)

    after = None if key.side == "input" else pick
    picked = _replayed(cached, path, progress, call, pick, after)
    tensor = picked[0] if key.side == "input" else picked[1]
    where = path or "the model"
    if tensor is None:
        raise UserError(f"{where} has no {key.side} tensor {key.name!r} in this call")
    if kind := skip_reason(tensor):
        raise UserError(f"{where}: {key.name} is {kind}, so its elements cannot be shown")
    # A copy, since an input may be a tensor of the cache, which nothing may change.
    found = named_values(cached, path, key, tensor.cpu().clone())
    return NamedValues(found.values, found.axes, _metadata(cached.run, path, key, call))


def tensor_corners(
    cached: CachedRun,
    path: str,
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> tuple[tuple[TensorKey, Corner], ...]:
    """Return the upper left corner of the first numeric input, and of the first numeric output.

    Raises:
        As ``module_tensors``.
    """
    inputs, outputs = module_tensors(cached, path, progress, call=call)
    sides: Mapping[Side, TensorsByName] = {"input": inputs, "output": outputs}
    found = []
    for side, tensors in sides.items():
        name = next((name for name, tensor in tensors.items() if _is_numeric(tensor)), None)
        if name is not None:
            key = TensorKey(side, name)
            found.append((key, corner_of(named_values(cached, path, key, tensors[name]))))
    return tuple(found)


def _is_numeric(tensor: Tensor) -> bool:
    return not skip_reason(tensor) and tensor.is_floating_point() and bool(tensor.numel())


def named_values(cached: CachedRun, path: str, key: TensorKey, tensor: Tensor) -> NamedValues:
    """Return the values of a tensor of a module in a run, with the tokens of its rows."""
    run, architecture = cached.run, cached.model.architecture
    origin = Origin("run", key=path, has_random_weights=run.source.weights == "random")
    values = from_tensor(key.name, tensor, origin)
    axes = token_axes(run, architecture, path, key.name, values.shape, values.dtype)
    return NamedValues(values, axes)


def _replayed(  # noqa: PLR0917
    cached: CachedRun,
    path: str,
    progress: Progress,
    call: int,
    before: Callable[[NamedTensors], Before],
    after: Callable[[NamedTensors], After] | None,
) -> tuple[Before, After | None]:
    """Replay one call of a module; return the results of two functions for its named tensors."""
    activation = cached.run.activation(path)
    if activation is None:
        raise UserError(f"{path or 'the model'} was not called in this run or returned no tensor")
    count = len(activation.calls)
    parameters = signature(cached.model.running_module.get_submodule(path).forward)
    return replay_call(
        cached.model,
        cached.cache,
        path,
        lambda arguments: before(_named_inputs(parameters, arguments)),
        None if after is None else lambda output: after(_named_outputs(output)),
        progress,
        number=range(count)[call],
        count=count,
    )


def _named_inputs(known: Signature, arguments: Arguments) -> NamedTensors:
    args, kwargs = arguments
    try:
        bound = dict(known.bind_partial(*args, **kwargs).arguments)
    except TypeError:  # a replaced forward may have another signature
        bound = {str(place): value for place, value in enumerate(args)} | kwargs
    for name, value in bound.items():
        parameter = known.parameters.get(name)
        is_kwargs = parameter is not None and parameter.kind is Parameter.VAR_KEYWORD
        yield from named_in(value, "" if is_kwargs else name)


def _named_outputs(output: Any) -> NamedTensors:
    return named_in(output, "" if isinstance(output, Mapping) else "output")


def _described(
    key: TensorKey, tensor: Tensor, symbols: "_SymbolicShapes", *, is_first: bool
) -> ModuleTensor:
    shape = () if tensor.is_nested else tuple(tensor.shape)
    dtype = str(tensor.dtype).removeprefix("torch.")
    symbolic = symbols.of(key.side, shape, is_first=is_first)
    return ModuleTensor(key, shape, dtype, symbolic, skip_reason(tensor))


class _SymbolicShapes:
    """Writes shapes of a module's inputs and outputs in the symbols of its model, such as S × D."""

    def __init__(self, architecture: Architecture, run: ActivationRun, path: str) -> None:
        costs = architecture.costs
        self._formulas = None if costs is None else costs.modules.get(path)
        self._values = bindings(architecture, run)

    def of(self, side: Side, shape: tuple[int, ...], *, is_first: bool) -> tuple[str, ...] | None:
        """Return the derived formulas if they give this shape, else one symbol per dimension."""
        if is_first and (known := self._formulas) is not None:
            formulas = known.input_shape if side == "input" else known.output_shape
            if formulas is not None and self._have_shape(formulas, shape):
                return formulas
        symbols = tuple(map(self._symbol, shape))
        return None if all(map(str.isdecimal, symbols)) else symbols

    def _have_shape(self, formulas: tuple[str, ...], shape: tuple[int, ...]) -> bool:
        try:
            return tuple(evaluate(size, self._values) for size in formulas) == shape
        except FormulaError:
            return False

    def _symbol(self, size: int) -> str:
        """Return the number of tokens or features as a symbol, if no other one has this value."""
        same = [letter for letter, value in self._values.items() if value == size]
        is_sure = len(same) == 1 and same[0] in ("S", "S_d", "D") and size > 1
        return same[0] if is_sure else str(size)


def _metadata(run: ActivationRun, path: str, key: TensorKey, call: int) -> Mapping[str, str]:
    """Return the metadata of a file with these values."""
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
