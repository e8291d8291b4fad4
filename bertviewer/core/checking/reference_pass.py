"""Runs the reference instance as a run went, and compares each module with the run.

Whenever a module is called, its arguments are replaced by the recorded ones, and its result by the
recorded one once it is compared. So each module computes from its own recorded inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.utils import ModelOutput

from bertviewer.core.building.seeded import seeded
from bertviewer.core.checking.comparison import (
    Deviation,
    NotComparableError,
    Triple,
    compare_each,
)
from bertviewer.core.checking.float64_mode import Float64Mode, Frame, Values
from bertviewer.core.checking.observed_calls import (
    Call,
    Comparison,
    hand_on,
    heads_of,
    weights_of,
)
from bertviewer.core.checking.tied_rows import in_order_of
from bertviewer.core.errors import Cancelled, UserError
from bertviewer.core.flow.forwards import replacing
from bertviewer.core.flow.nested_tensors import mapped, mapped_in, named_in, tensors_in
from bertviewer.core.progress import Progress
from bertviewer.core.run.capture import KeptCall
from bertviewer.core.run.failures import is_want_of_memory

_RANDOM = "it draws random numbers, which cannot be reproduced"
_FAILED = "a reference instance cannot be run on its inputs"
_NO_MEMORY = "not enough memory to run a reference instance"
_OTHER_SHAPES = "a reference instance calls it with tensors of other shapes"
_NOTHING = "it returns no finite value to compare"


class ReferencePass:
    """One forward pass of the reference instance, or of some of its modules.

    Args:
        model: the reference instance.
        find: takes a module's path and how many of its calls went before, and returns the recorded
            call, ``None`` where none is usable: then it is a part of the module around it.
        holders: the paths of modules that hold others which are found.
        progress: is called for every module.
        keep: whether the compared tensors are kept.
    """

    def __init__(
        self,
        model: nn.Module,
        find: Callable[[str, int], KeptCall | None],
        holders: frozenset[str],
        progress: Progress,
        *,
        keep: bool = False,
    ) -> None:
        self._model = model
        self._find = find
        self._holders = holders
        self._progress = progress
        self._keep = keep
        self._mode = Float64Mode()
        self._at_work: Call | None = None
        self._random_state: Tensor | None = None
        self._times: dict[str, int] = {}
        self.calls: list[Call] = []
        """The outermost calls that were compared."""

    def run(self, pieces: Sequence[tuple[str, Sequence[Any], Mapping[str, Any]]]) -> None:
        """Call modules, each given by its path and its arguments.

        Raises:
            Cancelled: ``progress`` said so.
            Exception: a module failed of which there is no recorded call.
        """
        modules = [(p, m) for p, m in self._model.named_modules() if callable(m.forward)]
        total = len(modules)
        replacements = ((m, self._replacement(path, m, total)) for path, m in modules)
        with torch.no_grad(), seeded(), replacing(replacements), self._mode:
            for path, args, kwargs in pieces:
                self._model.get_submodule(path)(*args, **kwargs)

    def _replacement(self, path: str, module: nn.Module, total: int) -> Callable[..., Any]:
        replacement = partial(self._call, path, module.forward, total)
        # Models look at the arguments' names.
        replacement.__wrapped__ = module.forward  # type: ignore[attr-defined]
        return replacement

    def _call(
        self, path: str, forward: Callable[..., Any], total: int, /, *args: Any, **kwargs: Any
    ) -> Any:
        number = self._times.get(path, 0)
        self._times[path] = number + 1
        above = self._at_work
        with torch._C.DisableTorchFunction():
            self._work(None)
            self._progress(len(self._times), total, path or type(self._model).__name__)
            recorded = self._find(path, number)
            call = None
            if recorded is None:
                self._work(above)
            else:
                call, recorded, (args, kwargs) = self._begin(
                    path, number, above, recorded, args, kwargs
                )
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
            output = self._end(call, output, error, recorded.output)
            self._work(above)
        return output

    def _begin(  # noqa: PLR0917
        self,
        path: str,
        number: int,
        above: Call | None,
        recorded: KeptCall,
        args: Any,
        kwargs: Any,
    ) -> tuple[Call, KeptCall, Any]:
        """Compare what a module is called with, and return what it is to compute from."""
        if above is not None:
            recorded = in_order_of(recorded, (args, kwargs), above.sorted)
        given = tuple(recorded.args), dict(recorded.kwargs)
        if above is not None:
            self._compare_inputs(above, path, (args, kwargs), given)
        taken = self._replaced((args, kwargs), given, above)
        local = Frame() if path in self._holders else None
        call = Call(path, number, above, Frame(), local, list(tensors_in(given)))
        if local is not None:
            _put_given(local, taken)
        shapes = [[tensor.shape for tensor in tensors_in(each)] for each in (taken, given)]
        if above is not None and shapes[0] != shapes[1]:
            for frame in call.frames:
                frame.fail(_OTHER_SHAPES)
        (self.calls if above is None else above.events).append(call)
        self._work(call)
        return call, recorded, taken

    def _end(self, call: Call, output: Any, error: Exception | None, recorded: Any) -> Any:
        """Compare what a module returned, and return what the modules around go on with."""
        above = call.above
        self._work(None)
        if error is not None:
            call.events.clear()
            for frame in call.frames:
                frame.fail(_NO_MEMORY if is_want_of_memory(error) else _FAILED)
            output = _as_output(mapped(recorded, _copied))
        else:
            self._compare_output(call, output, recorded)
            output = self._replaced(output, recorded, above)
        if above is not None and above.local is not None:
            _put_given(above.local, output)
        return output

    def _work(self, call: Call | None) -> None:
        """Have the next operations count for a call, or for none."""
        before, around = self._at_work, tuple(self._at_work.around) if self._at_work else ()
        self._mode.frames, self._mode.observer = (), None
        state = torch.random.get_rng_state()
        is_drawn = self._random_state is not None and not self._random_state.equal(state)
        if before is not None and is_drawn:
            for frame in (*(each.whole for each in around), before.frames[-1]):
                frame.fail(_RANDOM)
        self._random_state, self._at_work = state, call
        if call is not None:
            local = () if call.local is None else (call.local,)
            self._mode.frames = (*(each.whole for each in call.around), *local)
            self._mode.observer = call

    def _compare_inputs(self, call: Call, path: str, ours: Any, recorded: Any) -> None:
        local = call.local
        if local is None:
            return  # it calls a module that is none of those it holds
        pairs = []
        names = dict(named_in(ours)), dict(named_in(recorded))
        for name in {**names[0], **names[1]}:
            computed, found = (each.get(name) for each in names)
            if isinstance(computed, nn.Parameter):
                continue
            if computed is not None and found is not None and not computed.is_meta:
                values = local.values(computed)
                is_passed_on = values is None or values.is_given
                if is_passed_on and torch.equal(computed, found):
                    continue
            if not self._compare_heads(call, computed, found):
                pairs.append((computed, found))
        below = path.removeprefix(f"{call.path}.") if call.path else path
        deviation = self._compared(local, pairs, call.taken)
        if deviation is not None:
            call.events.append(Comparison(f"input of {below}", local=deviation))

    def _compare_output(self, call: Call, ours: Any, recorded: Any) -> None:
        names = dict(named_in(ours)), dict(named_in(recorded))
        pairs: list[tuple[Tensor | None, Tensor | None]] = []
        weights: list[tuple[Tensor | None, Tensor | None]] = []
        for name in {**names[0], **names[1]}:
            computed, found = (each.get(name) for each in names)
            known = None if computed is None else weights_of(computed)
            is_weights = known is not None and call.is_attention and call in known.scope.around
            (weights if is_weights else pairs).append((computed, found))
            self._compare_heads(call, computed, found)
        steps = [("output", pairs), *([("weights", weights)] if weights else [])]
        found_steps = [step for name, each in steps if (step := self._comparison(call, name, each))]
        call.output = [*found_steps, *call.output]
        if not found_steps and not any(isinstance(it, Comparison) for it in call.events):
            call.frames[-1].fail(_NOTHING)

    def _compare_heads(self, call: Call, computed: Tensor | None, found: Tensor | None) -> bool:
        """Compare an attention's heads where they are passed on, and return whether they are."""
        heads = None if computed is None else heads_of(computed)
        if heads is None or heads.scope is not call or computed is None or found is None:
            return False
        if found.shape != computed.shape or any(step.name == "head 0" for step in call.output):
            return False
        for head, axis, places in heads.split():

            def part(tensor: Tensor, axis: int = axis, places: Tensor = places) -> Tensor:
                return tensor.index_select(axis, places)

            step = self._comparison(call, f"head {head}", [(computed, found)], part)
            if step is not None:
                call.output.append(step)
        return any(step.name == "head 0" for step in call.output)

    def _comparison(
        self,
        call: Call,
        name: str,
        pairs: Sequence[tuple[Tensor | None, Tensor | None]],
        part: Callable[[Tensor], Tensor] = lambda tensor: tensor,
    ) -> Comparison | None:
        whole = self._compared(call.whole, pairs, call.taken, part)
        local = None
        if call.local is not None:
            local = self._compared(call.local, pairs, call.taken, part)
        return Comparison(name, whole, local) if whole or local else None

    def _compared(
        self,
        frame: Frame,
        pairs: Sequence[tuple[Tensor | None, Tensor | None]],
        taken: Sequence[Tensor],
        part: Callable[[Tensor], Tensor] = lambda tensor: tensor,
    ) -> Deviation | None:
        triples = []
        for ours, recorded in pairs:
            exact = None if ours is None else part(frame.exact(ours))
            rough = None if ours is None else part(frame.rough(ours))
            triples.append(Triple(exact, rough, None if recorded is None else part(recorded)))
        try:
            return compare_each(triples, taken, frame.coarsest, keep=self._keep)
        except NotComparableError as error:
            frame.fail(str(error))
            return None

    def _replaced(self, ours: Any, recorded: Any, above: Call | None) -> Any:
        """Return arguments or a result with the recorded tensors in them.

        In the evaluations of the modules around they keep the values that were computed.
        """
        found = dict(named_in(recorded))
        names = iter([name for name, _ in named_in(ours)])
        known: dict[int, Tensor] = {}
        frames = () if above is None else tuple(each.whole for each in above.around)

        def change(tensor: Tensor) -> Tensor:
            other = found.get(next(names))
            if other is None or other.shape != tensor.shape or isinstance(tensor, nn.Parameter):
                return tensor
            # One tensor under two names stays one.
            if id(other) not in known:
                known[id(other)] = given = _copied(other)
                hand_on(tensor, given)
                for frame in frames:
                    _keep_values(frame, tensor, given)
            return known[id(other)]

        return mapped_in(ours, change)


def _keep_values(frame: Frame, computed: Tensor, given: Tensor) -> None:
    """Give a recorded tensor the values that were computed for it in a frame."""
    if given is computed or not (given.is_floating_point() or given.is_complex()):
        return
    if frame.values(computed) is None and torch.equal(given, computed):
        return
    exact, rough = frame.exact(computed), frame.rough(computed)
    frame.put(given, Values(exact, rough))


def _put_given(frame: Frame, given: Any) -> None:
    """Note that tensors are passed in; parameters are known without that."""
    for tensor in tensors_in(given):
        if not isinstance(tensor, nn.Parameter):
            frame.put(tensor, Values(is_given=True))


def _copied(tensor: Tensor) -> Tensor:
    """Return a copy, which a module may write to."""
    return tensor.detach().clone()


def _as_output(value: Any) -> Any:
    return ModelOutput(value) if isinstance(value, dict) else value
