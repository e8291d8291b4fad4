"""Several calls of one model side by side, so that a layer's weights are read once for all of them.

Each call has a thread of its own, and just one of them runs at any time. It stops before each unit
that is read layer by layer. When all stand before one, or have ended, the weights of the first unit
that somebody waits for are read, all who wait for it go on, one after another in their order, and
the weights are given back. So nothing hangs on how a model is written: calls that leave a unit out,
come to one again, or to others first, are only read for more often.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

import torch
from torch import nn

from bertviewer.core.graph.module_calls import CallObserver, observing
from bertviewer.core.loading.layer_by_layer import Reading
from bertviewer.core.loading.lazy_parameter import lazy_parameters, loaded_parameters
from bertviewer.core.util.errors import Cancelled

T = TypeVar("T")

THREAD = "bertviewer-synchronizer"
"""The name of the threads."""


class LayerSynchronizer:
    """Calls a model side by side; one whose weights are in memory is called as often in turn.

    Attributes:
        unit: the path of the unit whose weights are there, for who wants to tell it.
    """

    def __init__(
        self, module: nn.Module, reading: Reading | None, check: Callable[[], None]
    ) -> None:
        """Take a model and how it is read; ``check`` is called now and then, and may raise."""
        listed = () if reading is None else reading.units
        self._units = [(path, unit) for path, unit in module.named_modules() if path in listed]
        self._check = check
        self._own = threading.local()
        self.unit = ""

    @property
    def largest(self) -> int:
        """The bytes that are read for the largest of the units."""
        sizes = ({id(weight): weight.nbytes for _, _, weight in lazy_parameters(unit)}
                 for _, unit in self._units)  # fmt: skip
        return max((sum(size.values()) for size in sizes), default=0)

    def run(self, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """Return what each of the jobs gives; each calls the model once, in any way.

        What one of them raises, or ``check``, ends all others: none is left behind.

        Raises:
            UserError: weights cannot be read.
        """
        if not self._units:
            return [job() for job in jobs]
        passes = [_Pass(job, self._own) for job in jobs]
        stops = [
            CallObserver(unit, lambda *_: None, partial(self._stop, place))
            for place, (_, unit) in enumerate(self._units)
        ]
        try:
            with observing(stops):
                for one in passes:
                    one.go_on()
                while (waited := [one.place for one in passes if one.place is not None]) != []:
                    self._pass(passes, min(waited))
                return [one.given[0] for one in passes]
        finally:
            self.unit = ""
            for one in passes:
                one.give_up()

    def _pass(self, passes: "Sequence[_Pass[T]]", place: int) -> None:
        """Let all go through a unit that wait for it, and again those that come back to it."""
        self.unit, unit = self._units[place]
        with loaded_parameters(unit, lambda *_: self._check()):
            while waiting := [one for one in passes if one.place == place]:
                for one in waiting:
                    self._check()
                    one.go_on()

    def _stop(self, place: int, _taken: object) -> None:
        if (one := getattr(self._own, "one", None)) is not None:
            one.wait(place)


class _Pass(Generic[T]):
    """One of the calls: it runs from one unit to the next when it is told to.

    It calculates as the thread does that has made it: with as many threads, with gradients or not.

    Attributes:
        place: of the unit that it waits for; ``None`` before the first and after the last.
        given: what it gave in the end.
    """

    def __init__(self, job: Callable[[], T], own: threading.local) -> None:
        self.place: int | None = None
        self.given: list[T] = []
        self._job, self._own = job, own
        self._threads, self._has_gradients = torch.get_num_threads(), torch.is_grad_enabled()
        self._error: BaseException | None = None
        self._is_given_up = False
        self._turn, self._rest = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)

    def go_on(self) -> None:
        """Have it run until it comes to a unit or to its end; what it raises is raised here."""
        self.place = None
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._turn.release()
        self._rest.acquire()
        if self._error is not None:
            raise self._error

    def wait(self, place: int) -> None:
        """Stop before a unit, in its own thread.

        Raises:
            Cancelled: it is not to go on.
        """
        if not self._is_given_up:
            self.place = place
            self._rest.release()
            self._turn.acquire()
        if self._is_given_up:
            raise Cancelled

    def give_up(self) -> None:
        """End it where it is, and wait until it has ended."""
        self._is_given_up = True
        if self._thread.ident is not None:
            self._turn.release()
            self._thread.join()

    def _run(self) -> None:
        self._own.one = self
        try:
            torch.set_num_threads(self._threads)
            with torch.set_grad_enabled(self._has_gradients):
                self.given.append(self._job())
        except BaseException as error:  # noqa: BLE001 - it is raised again, by whoever waits
            self._error = error
        finally:
            self._rest.release()
