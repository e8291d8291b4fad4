"""Runs the reference instance on recorded inputs, and compares each module with the run.

In each call of a module its arguments are replaced by the recorded ones, and its result, after the
comparison, by the recorded result. So each module computes from its own recorded inputs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor, nn
from transformers.utils import ModelOutput

from bertviewer.core.building.backend import seeded
from bertviewer.core.checks.comparison import (
    Deviation,
    NotComparableError,
    Triple,
    compare_each,
)
from bertviewer.core.checks.float64_functions import is_fractional
from bertviewer.core.checks.float64_mode import Float64Mode, Frame, Values
from bertviewer.core.checks.observed_calls import ObservedCall, StepComparison, mark_of, put_mark
from bertviewer.core.graph.module_calls import (
    map_plain,
    map_tensors,
    named_in,
    replacing,
    tensors_in,
)
from bertviewer.core.runs.activation_cache import ActivationCache, RecordedCall
from bertviewer.core.runs.failures import is_out_of_memory
from bertviewer.core.schema.modules import ancestors
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import Progress

_RANDOM = "it draws random numbers, which cannot be reproduced"
_FAILED = "a reference instance cannot be run on its inputs"
_NO_MEMORY = "not enough memory to run a reference instance"
_OTHER_SHAPES = "a reference instance calls it with tensors of other shapes"
_NOT_CALLED = "a reference instance of this model does not call it"
_CHANGED = "one of its inputs was modified in place afterwards"
_REORDERED = "it was called with its rows in another order"
_NOTHING = "it returns no finite value to compare"
NO_REFERENCE = "no reference instance of this model can be built and run"

Pieces = Sequence[tuple[str, Sequence[Any], Mapping[str, Any]]]
"""Paths of modules to call, with positional and keyword arguments."""

_Pair = tuple[Tensor | None, Tensor | None]
"""A tensor of the reference instance, and the recorded one."""

_Part = Callable[[Tensor], Tensor]


def _whole(tensor: Tensor) -> Tensor:
    return tensor


class ReferencePass:
    """One forward pass of the reference instance, or of some of its modules.

    Args:
        reference: the reference instance.
        running: the model, of which modules whose output was changed in place are called again.
        capture: the recorded calls; unusable ones are a part of the enclosing module.
        progress: is called for every module.
        keep: whether to keep the compared tensors.
    """

    def __init__(
        self,
        reference: nn.Module,
        running: nn.Module,
        capture: ActivationCache,
        progress: Progress,
        *,
        keep: bool = False,
    ) -> None:
        self._reference = reference
        self._running = running
        self._capture = capture
        self._progress = progress
        self._keep = keep
        parents = [path.rpartition(".")[0] for path in capture.calls if path]
        self._holders = {above for parent in parents for above in ancestors(parent)}
        self._heads = getattr(getattr(reference, "config", None), "num_attention_heads", 0)
        self._mode = Float64Mode()
        self._current: ObservedCall | None = None
        self._random_state: Tensor | None = None
        self._times: dict[str, int] = {}
        self._reasons: dict[str, str] = {}
        self._failure = _NOT_CALLED
        self.calls: dict[str, list[ObservedCall]] = {}
        """The compared calls by path."""

    def reason(self, path: str) -> str:
        """Return why a module has no steps."""
        calls = self.calls.get(path)
        problem = next((call.problem for call in calls if call.problem), "") if calls else None
        return self._reasons.get(path, self._failure if problem is None else problem)

    def attentions(self, paths: Iterable[str], *, inside: bool = True) -> list[str]:
        """Return the attentions at these paths, or also those ``inside`` of the modules there."""
        found = [call for path in paths for call in self.calls.get(path, ())]
        if inside:
            found = [each for call in found for each in call.calls]
        return list(dict.fromkeys(call.path for call in found if call.is_attention))

    def run(self, pieces: Pieces) -> None:
        """Call modules.

        Raises:
            Cancelled: by ``progress``.
        """
        modules = [(p, m) for p, m in self._reference.named_modules() if callable(m.forward)]
        replacements = []
        for path, module in modules:
            replacement = partial(self._call, path, module.forward, len(modules))
            # Models inspect the signature.
            replacement.__wrapped__ = module.forward  # type: ignore[attr-defined]
            replacements.append((module, replacement))
        try:
            with torch.no_grad(), seeded(), replacing(replacements), self._mode:
                for path, args, kwargs in pieces:
                    self._reference.get_submodule(path)(*args, **kwargs)
        except (Cancelled, UserError):
            raise
        except Exception:  # noqa: BLE001 - a model's forward fails with any kind of error
            self._failure = NO_REFERENCE

    def _call(
        self, path: str, forward: Callable[..., Any], total: int, /, *args: Any, **kwargs: Any
    ) -> Any:
        number = self._times.get(path, 0)
        self._times[path] = number + 1
        above, call = self._current, None
        with torch._C.DisableTorchFunction():
            self._switch_to(None)
            self._progress(len(self._times), total, path or type(self._reference).__name__)
            recorded = self._recorded(path, number, above, args)
            if recorded is not None:
                frames = (Frame(), Frame()) if path in self._holders else (Frame(),)
                given = tuple(recorded.args), dict(recorded.kwargs)
                call = ObservedCall(path, number, above, tensors_in(given), self._heads, frames)
                args, kwargs = self._begin(call, (args, kwargs), given)
            self._switch_to(call or above)
        if call is None or recorded is None:
            return forward(*args, **kwargs)
        output, error = None, None
        try:
            output = forward(*args, **kwargs)
        except (Cancelled, UserError):
            raise
        except Exception as raised:  # noqa: BLE001 - a forward fails with any kind of error
            error = raised
        with torch._C.DisableTorchFunction():
            self._switch_to(None)
            output = self._end(call, output, error, recorded.output)
            self._switch_to(above)
        return output

    def _recorded(
        self, path: str, number: int, above: ObservedCall | None, ours: Any
    ) -> RecordedCall | None:
        """Return the recorded call, ``None`` if it is unusable."""
        calls = self._capture.calls.get(path, [])
        if path in self._capture.refused or number >= len(calls):
            return None
        call = calls[number]
        if not call.is_intact and not call.has_intact_arguments:
            self._reasons[path] = _CHANGED
            return None
        if above is not None and above.has_sorted and _is_reordered(ours, call.args):
            self._reasons[path] = _REORDERED
            return None
        if call.is_intact:
            return call
        module = self._running.get_submodule(path)
        device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
        args, kwargs = map_plain((call.args, call.kwargs), lambda tensor: tensor.to(device))
        return replace(call, output=map_plain(module(*args, **kwargs), Tensor.cpu))

    def _begin(self, call: ObservedCall, ours: Any, recorded: Any) -> Any:
        """Compare the arguments of a call, and return the recorded ones."""
        above = call.above
        if above is not None:
            self._compare_inputs(above, call.path, ours, recorded)
        inputs = self._replaced(ours, recorded, above)
        _put_given(call, inputs)
        shapes = [[tensor.shape for tensor in tensors_in(each)] for each in (inputs, recorded)]
        if above is not None and shapes[0] != shapes[1]:
            call.fail(_OTHER_SHAPES)
        self.calls.setdefault(call.path, []).append(call)
        if above is not None:
            above.events.append(call)
        return inputs

    def _end(self, call: ObservedCall, output: Any, error: Exception | None, recorded: Any) -> Any:
        """Compare the result of a call, and return the recorded one."""
        if error is not None:
            call.events.clear()
            call.fail(_NO_MEMORY if is_out_of_memory(error) else _FAILED)
            copied = map_plain(recorded, _copied)
            output = ModelOutput(copied) if isinstance(copied, dict) else copied
        else:
            self._compare_output(call, output, recorded)
            output = self._replaced(output, recorded, call.above)
        _put_given(call.above, output)
        return output

    def _switch_to(self, call: ObservedCall | None) -> None:
        """Assign the next operations to a call, or to none."""
        state = torch.random.get_rng_state()
        is_drawn = self._random_state is not None and not self._random_state.equal(state)
        if self._current is not None and is_drawn:
            for frame in _frames(self._current):
                frame.fail(_RANDOM)
        self._random_state, self._current = state, call
        self._mode.frames = _frames(call)
        self._mode.observe = None if call is None else call.operation

    def _compare_inputs(self, call: ObservedCall, path: str, ours: Any, recorded: Any) -> None:
        """Compare the arguments that a call passes to a child."""
        below = path.removeprefix(f"{call.path}.") if call.path else path
        for frame in call.frames[1:]:
            pairs = [pair for pair in _pairs(ours, recorded) if not _is_passed_on(frame, *pair)]
            pairs = [pair for pair in pairs if not self._compare_heads(call, *pair)]
            if found := self._compared(frame, pairs, call):
                call.events.append(StepComparison(f"input of {below}", (None, found)))

    def _compare_output(self, call: ObservedCall, ours: Any, recorded: Any) -> None:
        outputs: list[_Pair] = []
        weights: list[_Pair] = []
        for computed, found in _pairs(ours, recorded):
            mark = mark_of(computed)
            is_weights = mark is not None and mark.is_weights and call in mark.scope.around
            (weights if is_weights and call.is_attention else outputs).append((computed, found))
            self._compare_heads(call, computed, found)
        named = {"output": outputs, "weights": weights}
        steps = [self._comparison(call, name, pairs) for name, pairs in named.items()]
        call.output = [*filter(None, steps), *call.output]
        if not any(steps) and not call.comparisons:
            call.frames[-1].fail(_NOTHING)

    def _compare_heads(
        self, call: ObservedCall, computed: Tensor | None, found: Tensor | None
    ) -> bool:
        """Compare an attention's heads where they are passed on; return whether they are."""
        mark = mark_of(computed)
        if mark is None or mark.is_weights or mark.scope is not call or found is None:
            return False
        if computed is None or found.shape != computed.shape:
            return False
        if any(step.is_head for step in call.output):
            return False
        for head, axis, places in mark.split():
            part = partial(torch.index_select, dim=axis, index=places)
            step = self._comparison(call, f"head {head}", [(computed, found)], part)
            call.output += [step] if step else []
        return any(step.is_head for step in call.output)

    def _comparison(
        self, call: ObservedCall, name: str, pairs: Sequence[_Pair], part: _Part = _whole
    ) -> StepComparison | None:
        found = [self._compared(frame, pairs, call, part) for frame in call.frames]
        return StepComparison(name, found) if any(found) else None

    def _compared(
        self, frame: Frame, pairs: Sequence[_Pair], call: ObservedCall, part: _Part = _whole
    ) -> Deviation | None:
        triples = []
        for ours, recorded in pairs:
            exact = None if ours is None else part(frame.exact(ours))
            rough = None if ours is None else part(frame.rough(ours))
            triples.append(Triple(exact, rough, None if recorded is None else part(recorded)))
        try:
            found = compare_each(triples, call.inputs, frame.coarsest)
        except NotComparableError as error:
            frame.fail(str(error))
            return None
        return found if found is None or self._keep else replace(found, tensors=())

    def _replaced(self, ours: Any, recorded: Any, above: ObservedCall | None) -> Any:
        """Return arguments or a result with their tensors replaced by recorded ones.

        In the frames of enclosing modules these keep the computed values.
        """
        found = dict(named_in(recorded))
        names = iter([name for name, _ in named_in(ours)])
        known: dict[int, Tensor] = {}

        def change(tensor: Tensor) -> Tensor:
            other = found.get(next(names))
            if other is None or other.shape != tensor.shape or isinstance(tensor, nn.Parameter):
                return tensor
            # A tensor with two names stays one.
            if id(other) not in known:
                known[id(other)] = given = _copied(other)
                put_mark(given, mark_of(tensor))
                for call in above.around if above else ():
                    _put_computed(call.frames[0], tensor, given)
            return known[id(other)]

        return map_tensors(ours, change)


def _frames(call: ObservedCall | None) -> tuple[Frame, ...]:
    """Return the frames in which the operations of a call are evaluated."""
    return () if call is None else (*(each.frames[0] for each in call.around), *call.frames[1:])


def _pairs(ours: Any, recorded: Any) -> list[_Pair]:
    """Return pairs of tensors with equal names."""
    names = dict(named_in(ours)), dict(named_in(recorded))
    return [(names[0].get(name), names[1].get(name)) for name in names[0] | names[1]]


def _is_reordered(ours: Any, recorded: Any) -> bool:
    """Return whether tensors are the recorded ones with rows in another order."""
    for pair in _pairs(ours, recorded):
        one, other = (torch.tensor(0.0) if it is None else it.double() for it in pair)
        if one.dim() > 1 and one.shape == other.shape:
            # Sorted, they only differ by rounding.
            in_order = (one.sort(0).values - other.sort(0).values).square().sum()
            if in_order < (one - other).square().sum() / 100:
                return True
    return False


def _is_passed_on(frame: Frame, computed: Tensor | None, found: Tensor | None) -> bool:
    """Return whether a tensor is a weight or an argument of the enclosing module."""
    if isinstance(computed, nn.Parameter):
        return True
    if computed is None or found is None or computed.is_meta:
        return False
    values = frame.values(computed)
    return (values is None or values.is_given) and torch.equal(computed, found)


def _put_computed(frame: Frame, computed: Tensor, given: Tensor) -> None:
    """Set the computed values of a recorded tensor in a frame."""
    if not is_fractional(given):
        return
    if frame.values(computed) is not None or not torch.equal(given, computed):
        frame.put(given, Values(frame.exact(computed), frame.rough(computed)))


def _put_given(call: ObservedCall | None, given: Any) -> None:
    """Mark tensors, except parameters, as passed to the operations of a call."""
    for frame in call.frames[1:] if call else ():
        for tensor in tensors_in(given):
            if not isinstance(tensor, nn.Parameter):
                frame.put(tensor, Values(is_given=True))


def _copied(tensor: Tensor) -> Tensor:
    """Return a copy that a module may write to."""
    return tensor.detach().clone()
