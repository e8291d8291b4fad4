"""Checks single modules of a run that was captured."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.activations.check_step import CheckStep
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.checking.arithmetic import EXACT, Arithmetic, rounded
from bertviewer.core.checking.attention import ATTENTIONS, AttentionForm
from bertviewer.core.checking.attention_maths import Attention
from bertviewer.core.checking.comparison import Deviation, Look, compare, step_of
from bertviewer.core.checking.evaluator import Evaluator, NoRecomputationError, Setting
from bertviewer.core.checking.layer_steps import (
    LAYERS,
    NEXT,
    Calculation,
    Child,
    Seen,
    layer_steps,
)
from bertviewer.core.checking.layers import hidden
from bertviewer.core.checking.recomputations import IN_FLOAT32, recomputation
from bertviewer.core.families.families import CLASSES
from bertviewer.core.families.family import Descriptions, kind_of
from bertviewer.core.flow.nested_tensors import mapped, tensors_in, versions
from bertviewer.core.frozen import frozen
from bertviewer.core.run.capture import Capture, KeptCall


@frozen
class _Called:
    """One call of one module, and the evaluators that recompute it."""

    path: str
    number: int
    call: KeptCall
    stored: torch.dtype
    exact: Evaluator
    rough: Evaluator

    def both(self, recompute: Callable[[Evaluator], Any]) -> tuple[Any, Any]:
        """Recompute something in float64 and as the model rounds."""
        return recompute(self.exact), recompute(self.rough)

    def again(self, module: Evaluator) -> Any:
        """Recompute the module from the arguments of the call."""
        take = module.setting.arithmetic.take
        return module(*take(self.call.args), **take(dict(self.call.kwargs)))


@frozen
class _Attended:
    """An attention's steps, and what its single heads are compared with afterwards."""

    found: list[tuple[str, Deviation]]
    exact: Attention
    mixed: Tensor


class Checker:
    """Recomputes modules of one captured run; remembers what two steps have in common.

    ``look`` is shown what is compared; the tensors are kept alive then. ``tables`` are parameters
    that are computed from the configuration, by their names, and used instead of the model's.
    """

    def __init__(
        self,
        module: nn.Module,
        architecture: Architecture,
        capture: Capture,
        classes: Descriptions = CLASSES,
        look: Look | None = None,
        tables: Mapping[str, Tensor] | None = None,
    ) -> None:
        self._module = module
        self._look = look
        self._classes = classes
        self._architecture = architecture
        self._capture = capture
        self._tables = tables or {}
        self._nodes = {node.path: node for node in architecture.modules}
        self._known: dict[tuple[str, int], Deviation] = {}

    def steps(self, path: str) -> Iterator[CheckStep]:
        """Yield the steps of the module at ``path``, of each of its calls.

        Raises:
            NoRecomputationError: it cannot be checked; the error says why.
        """
        calls = self._capture.calls.get(path)
        if calls is None:
            raise NoRecomputationError("it was not called in this run")
        kind = self._evaluator(path, EXACT).kind
        for number, call in enumerate(calls):
            called = self._called(path, number, call)
            found: Iterable[tuple[str, Deviation]]
            if kind in ATTENTIONS:
                found = self._attention(called, ATTENTIONS[kind])
            elif kind in LAYERS:
                found = self._layer(called)
            else:
                found = [("output", self._output(called))]
            for step, comparison in found:
                # A shared layer is called once for every layer of the stack.
                told = step if len(calls) == 1 else f"{step}, call {number}"
                yield self._step(path, told, comparison)

    def again(self, path: str, other: Capture, suffix: str) -> Iterator[CheckStep]:
        """Yield an attention's steps in another capture, the steps of single heads left out."""
        form = ATTENTIONS[self._evaluator(path, EXACT).kind]
        calls = other.calls.get(path, [])
        for number, call in enumerate(calls):
            called = self._called(path, number, call)
            for step, found in self._results(called, form).found:
                told = f"{step} ({suffix})"
                if len(calls) > 1:
                    told += f", call {number}"
                yield self._step(path, told, found)

    def _step(self, path: str, name: str, found: Deviation) -> CheckStep:
        step = step_of(path, name, found)
        if self._look is not None:
            self._look(step, found)
        return step

    def _called(self, path: str, number: int, call: KeptCall) -> _Called:
        module = self._module.get_submodule(path)
        if not call.is_intact:
            call = repeated(module, call)
        stored = _coarsest(module, call, self._classes)
        exact, rough = (self._evaluator(path, used) for used in (EXACT, rounded(stored)))
        return _Called(path, number, call, stored, exact, rough)

    def _evaluator(self, path: str, arithmetic: Arithmetic) -> Evaluator:
        return Setting(
            self._module,
            self._architecture,
            self._nodes,
            arithmetic,
            recomputation,
            self._classes,
            self._tables,
        ).evaluator(path)

    def _compare(self, called: _Called, exact: Any, rough: Any, actual: Any) -> Deviation | None:
        inputs = tensors_in((called.call.args, called.call.kwargs))
        keep = self._look is not None
        return compare(exact, rough, actual, inputs, called.stored, keep=keep)

    def _output(self, called: _Called) -> Deviation:
        """Compare the whole of what a module gave; once, though layers ask again."""
        key = (called.path, called.number)
        if key not in self._known:
            form = ATTENTIONS.get(called.exact.kind)
            if form is not None:
                # The head's outputs are compared with the layer's step, the weights are not.
                self._known[key] = dict(self._results(called, form).found)["output"]
            else:
                exact, rough = called.both(called.again)
                self._known[key] = self._needed(called, exact, rough, called.call.output)
        return self._known[key]

    def _needed(self, called: _Called, exact: Any, rough: Any, actual: Any) -> Deviation:
        comparison = self._compare(called, exact, rough, actual)
        if comparison is None:
            raise NoRecomputationError("it returns no finite value to compare")
        return comparison

    def _results(self, called: _Called, form: AttentionForm) -> _Attended:
        """Compare an attention's output and its weights."""

        def read(module: Evaluator) -> Attention:
            take = module.setting.arithmetic.take
            return form.read(module, *take(called.call.args), **take(dict(called.call.kwargs)))

        def finish(module: Evaluator, attention: Attention) -> tuple[Any, Tensor]:
            weights, mixed = attention.attend(module)
            result = form.finish(module, attention, mixed, weights)
            return module.setting.arithmetic.round(result), mixed

        exact, rough = called.both(read)
        (a, _), (b, mixed) = finish(called.exact, exact), finish(called.rough, rough)
        given = form.given(called.call.output)
        last = len(a) - 1
        found = [("output", self._needed(called, a[:last], b[:last], given[:last]))]
        weights = self._compare(called, a[last:], b[last:], given[last:])
        if weights is not None:
            found.append(("weights", weights))
        return _Attended(found, exact, mixed)

    def _attention(self, called: _Called, form: AttentionForm) -> Iterator[tuple[str, Deviation]]:
        attended = self._results(called, form)
        self._known[called.path, called.number] = dict(attended.found)["output"]
        yield from attended.found
        mixed = self._mixed(called, form)
        if mixed is None:
            return
        size = mixed.shape[-1] // attended.exact.heads
        for head in range(attended.exact.heads):
            columns = slice(head * size, (head + 1) * size)
            # From the head's own rows of the weights; rounding is that of the heads together.
            alone = attended.exact.attend(called.exact, head)[1]
            rough = attended.mixed[..., columns]
            yield f"head {head}", self._needed(called, alone, rough, mixed[..., columns])

    def _mixed(self, called: _Called, form: AttentionForm) -> Tensor | None:
        """Return the heads' outputs side by side, where the run lets them be seen."""
        if form.output is None:
            return form.given(called.call.output)[0]
        call = self._find(called, form.output) if form.output else None
        if call is None or not call.is_intact:
            return None
        return call.args[0]

    def _find(self, called: _Called, name: str) -> KeptCall | None:
        """Return the call of a module below that belongs to this call."""
        path = f"{called.path}.{name}" if called.path else name
        calls = self._capture.calls.get(path, [])
        return calls[called.number] if called.number < len(calls) else None

    def _layer(self, called: _Called) -> Iterator[tuple[str, Deviation]]:
        def seen(module: Evaluator | None) -> Seen:
            arithmetic = None if module is None else module.setting.arithmetic
            return Seen(called.call, lambda name: self._find(called, name), arithmetic)

        for step in layer_steps(called.exact, called.call):
            if isinstance(step, Child):
                child = self._find(called, step.child)
                if child is None:
                    continue
                below = called.exact.below(step.child).path
                yield step.name, self._output(self._called(below, called.number, child))
            elif isinstance(step, Calculation):
                a, b = (
                    step.expected(module, seen(module)) for module in (called.exact, called.rough)
                )
                yield step.name, self._needed(called, a, b, step.actual(seen(None)))
        a, b = called.both(called.again)
        results = [(a, b, called.call.output)]
        state = self._next_state(called)
        if state is not None:
            length = state.shape[1]
            results.append((hidden(a)[:, :length], hidden(b)[:, :length], state))
        yield NEXT, self._needed(called, *(list(each) for each in zip(*results, strict=True)))

    def _next_state(self, called: _Called) -> Tensor | None:
        """Return the hidden state after this layer, if the model gives what the layer gives.

        Something may come in between: the convolution of DeBERTa, a last norm. What the model
        gives then is compared in the module that calculates it.
        """
        roots = self._capture.calls.get("", [])
        number = called.path.rpartition(".")[2]
        if not roots or not isinstance(roots[0].output, dict) or not number.isdecimal():
            return None
        if isinstance(called.call.output, dict):
            return None
        sides = {"encoder": "encoder_hidden_states", "decoder": "decoder_hidden_states"}
        output = roots[0].output
        keys = (*(sides[p] for p in called.path.split(".") if p in sides), "hidden_states")
        states = next((output[key] for key in keys if output.get(key) is not None), None)
        is_shared = len(self._capture.calls[called.path]) > 1
        place = 1 + (called.number if is_shared else int(number))
        if not isinstance(states, tuple) or place >= len(states):
            return None
        state: Tensor = states[place]
        # BigBird fills its last block up, and cuts that off again from its last state.
        given = hidden(called.call.output)[:, : state.shape[1]]
        return state if torch.equal(given, state) else None


def repeated(module: nn.Module, call: KeptCall) -> KeptCall:
    """Call a module again whose output was changed in place after it, as a projection of DeBERTa's.

    Raises:
        NoRecomputationError: what it took was changed as well.
    """
    if not call.is_repeatable:
        raise NoRecomputationError("one of its inputs was modified in place afterwards")
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    args, kwargs = mapped((call.args, call.kwargs), lambda tensor: tensor.to(device))
    with torch.no_grad():
        output = mapped(module(*args, **kwargs), Tensor.cpu)
    return replace(call, output=output, versions=versions((call.args, call.kwargs, output)))


def _coarsest(module: nn.Module, call: KeptCall, classes: Descriptions) -> torch.dtype:
    """Return the dtype that rounds the most of those that a module works in."""
    tensors = (*tensors_in((call.args, call.kwargs, call.output)), *module.parameters())
    floats = [tensor.dtype for tensor in tensors if tensor.is_floating_point()]
    kinds = (kind_of(classes.get(type(inner).__name__)) for inner in module.modules())
    if any(kind in IN_FLOAT32 for kind in kinds):
        floats.append(torch.float32)
    return max(floats, key=lambda dtype: torch.finfo(dtype).eps, default=torch.float32)
