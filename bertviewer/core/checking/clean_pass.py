"""Runs a clean model as a run went, and compares each module's own operations with the run.

At every module's door what comes is put aside for what the run had there: a module works on what
it really took, and goes on with what the modules in it really gave. So an error is found in the
module that makes it, and in none after it or around it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.utils import ModelOutput

from bertviewer.core.building.seeded import seeded
from bertviewer.core.checking.comparison import Deviation
from bertviewer.core.checking.evaluator import Given, NoRecomputationError
from bertviewer.core.checking.flow_comparison import Triple, compare_each
from bertviewer.core.checking.tied_rows import in_order_of
from bertviewer.core.errors import Cancelled, UserError
from bertviewer.core.flow.float64_shadow import CallRecord, Float64Shadow
from bertviewer.core.flow.forwards import replacing
from bertviewer.core.flow.nested_tensors import mapped, mapped_in, named_in, tensors_in
from bertviewer.core.progress import Progress
from bertviewer.core.run.capture import KeptCall
from bertviewer.core.run.failures import is_want_of_memory

_RANDOM = "it draws random numbers, which cannot be reproduced"
_FAILED = "a reference instance cannot be run on its inputs"
_NO_MEMORY = "not enough memory to run a reference instance"


@dataclass(slots=True)
class Proven:
    """What came of one call of a module: its steps in order, or why there are none."""

    steps: list[tuple[str, Deviation]] = field(default_factory=list)
    reason: str = ""


@dataclass(slots=True)
class _Frame:
    """A call of a module that is at work, and is to be proven."""

    path: str
    taken: list[Tensor]
    proof: Proven = field(default_factory=Proven)
    record: CallRecord = field(default_factory=CallRecord)
    drawn: Given = None


class CleanPass:
    """One forward pass of a clean model.

    Args:
        model: the clean one.
        wanted: the paths of the modules to prove.
        find: takes a module's path and how many of its calls went before, and gives the run's call
            of it, ``None`` where none is known that can be used.
        progress: told of every module that is called.
        keep: whether what was compared comes along.
    """

    def __init__(
        self,
        model: nn.Module,
        wanted: Collection[str],
        find: Callable[[str, int], KeptCall | None],
        progress: Progress,
        *,
        keep: bool = False,
    ) -> None:
        self._model = model
        self._wanted = wanted
        self._find = find
        self._progress = progress
        self._keep = keep
        self._shadow = Float64Shadow()
        self._frame: _Frame | None = None
        self._times: dict[str, int] = {}
        self.proofs: dict[str, list[Proven]] = {}
        """What came of each call, by path."""

    def run(self, inputs: Mapping[str, Any]) -> None:
        """Run it.

        Raises:
            Cancelled: ``progress`` said so.
            Exception: the model itself failed, and nothing is known of the run's call of it.
        """
        modules = [(p, m) for p, m in self._model.named_modules() if callable(m.forward)]
        total = len(modules)
        stand_ins = ((m, self._stand_in(path, m, total)) for path, m in modules)
        with (
            torch.no_grad(),
            seeded(),
            replacing(stand_ins),
            self._shadow,
        ):
            self._model(**inputs)

    def _stand_in(self, path: str, module: nn.Module, total: int) -> Callable[..., Any]:
        stand_in = partial(self._call, path, module.forward, total)
        # Models look at the arguments' names.
        stand_in.__wrapped__ = module.forward  # type: ignore[attr-defined]
        return stand_in

    def _call(
        self, path: str, forward: Callable[..., Any], total: int, /, *args: Any, **kwargs: Any
    ) -> Any:
        number = self._times.get(path, 0)
        self._times[path] = number + 1
        above = self._frame
        self._work(None)
        self._progress(len(self._times), total, path or type(self._model).__name__)
        real = self._find(path, number)
        if real is None:
            # It is a part of what is around it.
            self._work(above)
            return forward(*args, **kwargs)
        given = tuple(real.args), dict(real.kwargs)
        if above is not None:
            real = in_order_of(real, (args, kwargs), above.record.sorted)
            given = tuple(real.args), dict(real.kwargs)
            self._compare_inputs(above, path, (args, kwargs), given)
        args, kwargs = self._replaced((args, kwargs), given)
        frame = _Frame(path, list(tensors_in(given))) if path in self._wanted else None
        if frame is not None:
            self.proofs.setdefault(path, []).append(frame.proof)
        try:
            self._work(frame)
            output = forward(*args, **kwargs)
            self._work(None)
        except (Cancelled, UserError):
            raise
        except Exception as error:  # noqa: BLE001 - a forward fails with any kind of error
            output = self._failed(frame, error, real.output)
        else:
            if frame is not None:
                self._compare_output(frame, output, real.output)
            output = self._replaced(output, real.output)
        self._work(above)
        return output

    def _work(self, frame: _Frame | None) -> None:
        """Let a frame go on, or none: what is done from now on is its doing."""
        self._shadow.record = None
        before = None if self._frame is None else self._frame.drawn
        if self._frame and before is not None and not before.equal(torch.random.get_rng_state()):
            self._frame.record.fail(_RANDOM)
        self._frame = frame
        if frame is not None:
            frame.drawn = torch.random.get_rng_state()
            self._shadow.record = frame.record

    def _failed(self, frame: _Frame | None, error: Exception, given: Any) -> Any:
        """Note that a module failed, and return what the run gave in its place."""
        self._work(None)
        if frame is not None:
            frame.proof.steps.clear()
            frame.proof.reason = _NO_MEMORY if is_want_of_memory(error) else _FAILED
        return _as_output(mapped(given, self._shadow.give))

    def _compare_inputs(self, frame: _Frame, path: str, clean: Any, given: Any) -> None:
        triples = []
        names = dict(named_in(clean)), dict(named_in(given))
        for name in {**names[0], **names[1]}:
            ours, runs = (each.get(name) for each in names)
            if ours is None or runs is None:
                triples.append(Triple(ours, ours, runs))
                continue
            is_given = self._shadow.is_given(ours)
            if is_given is None or (is_given and torch.equal(ours, runs)):
                continue
            triples.append(Triple(self._shadow.exact(ours), ours, runs))
        below = path.removeprefix(f"{frame.path}.") if frame.path else path
        self._note(frame, f"input of {below}", triples)

    def _compare_output(self, frame: _Frame, output: Any, given: Any) -> None:
        names = dict(named_in(output)), dict(named_in(given))
        triples = []
        for name in {**names[0], **names[1]}:
            ours, runs = (each.get(name) for each in names)
            exact = None if ours is None else self._shadow.exact(ours)
            triples.append(Triple(exact, ours, runs))
        self._note(frame, "output", triples)
        if not frame.proof.steps:
            frame.record.fail("it returns no finite value to compare")
        if frame.record.problem:
            frame.proof.steps.clear()
            frame.proof.reason = frame.record.problem

    def _note(self, frame: _Frame, step: str, triples: list[Triple]) -> None:
        try:
            found = compare_each(triples, frame.taken, frame.record.coarsest, keep=self._keep)
        except NoRecomputationError as error:
            frame.record.fail(str(error))
        else:
            frame.proof.steps += [] if found is None else [(step, found)]

    def _replaced(self, clean: Any, given: Any) -> Any:
        """Return what a clean module took or gave with the run's tensors in it."""
        runs = dict(named_in(given))
        names = iter([name for name, _ in named_in(clean)])
        known: dict[int, Tensor] = {}

        def change(tensor: Tensor) -> Tensor:
            other = runs.get(next(names))
            if other is None:
                return tensor
            # One tensor under two names stays one.
            if id(other) not in known:
                known[id(other)] = self._shadow.give(other)
            return known[id(other)]

        return mapped_in(clean, change)


def _as_output(value: Any) -> Any:
    return ModelOutput(value) if isinstance(value, dict) else value
