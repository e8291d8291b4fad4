"""Several forward passes at once that share each load of a layer's weights.

Each pass has its own thread, and only one thread runs at a time. A thread stops before each unit
that is loaded for its calls. When all have stopped or ended, the first unit that any of them waits
for is loaded, and those that wait for it go on, one by one. This does not depend on how the model
is written: passes that skip a unit, repeat one, or use another order only cause more loads.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

import torch
from torch import nn

from bertviewer.core.graph.module_calls import CallObserver, observing
from bertviewer.core.loading.layer_by_layer import OffloadState
from bertviewer.core.loading.lazy_parameter import lazy_parameters, loaded_parameters
from bertviewer.core.util.errors import Cancelled

T = TypeVar("T")

THREAD_NAME = "bertviewer-layers"
"""Name of the threads of all passes."""


class LayerSynchronizer:
    """Runs passes of one model in step; those of a model in memory one after another.

    Args:
        module: the model.
        state: how its weights are loaded; ``None`` if they are in memory.
        check: is called regularly, and may raise.

    Attributes:
        unit: the path of the unit that is loaded now, for progress messages.
    """

    def __init__(
        self, module: nn.Module, state: OffloadState | None, check: Callable[[], None]
    ) -> None:
        paths = () if state is None else state.units
        self._units = [(path, unit) for path, unit in module.named_modules() if path in paths]
        self._check = check
        self._current = threading.local()
        self.unit = ""

    @property
    def largest(self) -> int:
        """The bytes that are loaded for the largest unit."""
        unique = ({id(p): p.nbytes for *_, p in lazy_parameters(unit)} for _, unit in self._units)
        return max((sum(sizes.values()) for sizes in unique), default=0)

    def run(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """Return the results of jobs, each of which calls the model once.

        An error of one of them, or of ``check``, ends all of them.

        Raises:
            UserError: weights cannot be read.
        """
        if not self._units:
            return [job() for job in jobs]
        passes = [_Pass(job, self._current) for job in jobs]
        stops = [
            CallObserver(unit, before=partial(self._stop, place))
            for place, (_, unit) in enumerate(self._units)
        ]
        try:
            with observing(stops):
                for one in passes:
                    one.resume()
                while waiting := [one.place for one in passes if one.place is not None]:
                    self._run_unit(passes, min(waiting))
                return [one.results[0] for one in passes]
        finally:
            self.unit = ""
            for one in passes:
                one.end()

    def _run_unit(self, passes: "Sequence[_Pass[T]]", place: int) -> None:
        """Resume all passes that wait for a unit, until none comes back to it."""
        self.unit, unit = self._units[place]
        with loaded_parameters(unit, lambda *_: self._check()):
            while waiting := [one for one in passes if one.place == place]:
                for one in waiting:
                    self._check()
                    one.resume()

    def _stop(self, place: int, _arguments: object) -> None:
        if (one := getattr(self._current, "one", None)) is not None:
            one.wait(place)


class _Pass(Generic[T]):
    """A forward pass in its own thread, with the torch settings of the thread that creates it.

    Attributes:
        place: index of the unit that it waits for; ``None`` before the first and after the last.
        results: its result, once it has ended.
    """

    def __init__(self, job: Callable[[], T], current: threading.local) -> None:
        self.place: int | None = None
        self.results: list[T] = []
        self._job, self._current = job, current
        self._threads, self._has_gradients = torch.get_num_threads(), torch.is_grad_enabled()
        self._error: BaseException | None = None
        self._is_ended = False
        self._may_run, self._has_stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)

    def resume(self) -> None:
        """Let it run to the next unit or to its end, and raise its error."""
        self.place = None
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._may_run.release()
        self._has_stopped.acquire()
        if self._error is not None:
            raise self._error

    def wait(self, place: int) -> None:
        """Stop before a unit; called in its own thread.

        Raises:
            Cancelled: another pass failed, or the run was cancelled.
        """
        if not self._is_ended:
            self.place = place
            self._has_stopped.release()
            self._may_run.acquire()
        if self._is_ended:
            raise Cancelled

    def end(self) -> None:
        """Cancel it if it has not finished, and join its thread."""
        self._is_ended = True
        if self._thread.ident is not None:
            self._may_run.release()
            self._thread.join()

    def _run(self) -> None:
        self._current.one = self
        try:
            torch.set_num_threads(self._threads)
            with torch.set_grad_enabled(self._has_gradients):
                self.results.append(self._job())
        except BaseException as error:  # noqa: BLE001 - ``resume`` raises it
            self._error = error
        finally:
            self._has_stopped.release()
