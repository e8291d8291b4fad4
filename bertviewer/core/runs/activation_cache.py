"""What modules took and gave in a run: references to the tensors, no copies."""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.graph.module_calls import (
    Arguments,
    CallObserver,
    mapped,
    observing,
    plain,
    tensors_in,
    versions,
)

CHECK_BYTES = 512_000_000
"""Bytes of activations that a check in the window may keep alive while it lasts."""

Scope = Literal["everything", "units"]


class RecordedCall(Struct, frozen=True):
    """One call of a module: its arguments as they came, and its output.

    ``versions`` belong to the tensors of both, in order, from before and after the call.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    output: Any
    versions: tuple[int, ...]

    @property
    def is_intact(self) -> bool:
        """Whether no tensor was changed in place since it was given."""
        return self.versions == versions((self.args, self.kwargs, self.output))

    @property
    def is_repeatable(self) -> bool:
        """Whether at least what it took is as it was."""
        taken = versions((self.args, self.kwargs))
        return self.versions[: len(taken)] == taken


class ActivationCache:
    """The calls of modules in one run, by path, until a budget of bytes is spent.

    A run fills it. With the scope "everything" it has every module's arguments and output, which
    a check compares. With "units" it has just the arguments of each layer and of each module that
    stands beside the layers: the hidden states, and what is needed to call any of them again.

    The budget counts each storage once, however many modules hand it on. ``inputs`` are what the
    model itself was called with.
    """

    def __init__(self, scope: Scope = "everything", budget: float = math.inf) -> None:
        self.scope: Scope = scope
        self.budget = budget
        self.inputs: Mapping[str, Any] = {}
        self.calls: dict[str, list[RecordedCall]] = {}
        self.refused: set[str] = set()
        self._storages: dict[int, int] = {}

    @property
    def bytes(self) -> int:
        """The size of all storages that are kept alive."""
        return sum(self._storages.values())

    def add(self, path: str, call: RecordedCall) -> None:
        """Keep a call of the module at ``path``, if it fits into the budget."""
        tensors = tensors_in((call.args, call.kwargs, call.output))
        storages = dict(map(_storage, tensors))
        new = sum(size for key, size in storages.items() if key not in self._storages)
        if self.bytes + new > self.budget:
            self.refused.add(path)
            return
        self._storages |= storages
        self.calls.setdefault(path, []).append(call)

    def units(self, paths: Iterable[str]) -> "ActivationCache":
        """Return what the scope "units" would have kept; the rest can go."""
        found = ActivationCache("units", self.budget)
        found.inputs = self.inputs
        for path in paths:
            for call in self.calls.get(path, ()):
                taken = len(versions((call.args, call.kwargs)))
                found.add(path, replace(call, output=None, versions=call.versions[:taken]))
        return found

    def on_cpu(self) -> "ActivationCache":
        """Return the same calls with all tensors on the CPU; this very capture if they are.

        A call that is not intact stays so.
        """
        tensors = tensors_in([call.args for calls in self.calls.values() for call in calls])
        if all(tensor.is_cpu for tensor in tensors):
            return self
        copy = ActivationCache(self.scope, self.budget)
        copy.inputs, copy.refused = self.inputs, self.refused
        copy.calls = {path: [_on_cpu(call) for call in calls] for path, calls in self.calls.items()}
        return copy

    @contextmanager
    def watching(self, modules: Mapping[str, nn.Module]) -> Iterator[None]:
        """Keep the calls of these modules inside the ``with``; the hooks are gone after it."""
        watchers = [(module, _Watcher(self, path)) for path, module in modules.items()]
        handles = []
        try:
            for module, it in watchers:
                handles.append(module.register_forward_pre_hook(it.before, with_kwargs=True))
                handles.append(module.register_forward_hook(it.after, with_kwargs=True))
            with observing(
                CallObserver(module, it.after_forward, it.before_forward) for module, it in watchers
            ):
                yield
        finally:
            for handle in handles:
                handle.remove()


class _Watcher:
    """Notes the versions of a module's arguments before a call, and keeps the call after it.

    Hooks see what other hooks make of the output. Where a model calls ``layer.forward()``, as
    SqueezeBERT does, there are none, and the call of ``forward`` itself is what is kept.
    """

    def __init__(self, capture: ActivationCache, path: str) -> None:
        self._capture = capture
        self._path = path
        self._before: list[tuple[int, ...]] = []
        self._hooked = 0

    def before(self, _module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._before.append(versions((args, kwargs)))
        self._hooked += 1

    def after(
        self, _module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        self._keep((args, kwargs), output, self._before.pop())

    def before_forward(self, taken: Arguments) -> tuple[int, ...] | None:
        if not self._hooked:
            return versions(taken)
        self._hooked -= 1
        return None

    def after_forward(self, taken: Arguments, output: Any, before: tuple[int, ...] | None) -> None:
        if before is not None:
            self._keep(taken, output, before)

    def _keep(self, taken: Arguments, output: Any, before: tuple[int, ...]) -> None:
        # Plain copies of what holds the tensors: a model adds to its output after the call.
        args, kwargs = plain(taken)
        given = plain(output) if self._capture.scope == "everything" else None
        self._capture.add(self._path, RecordedCall(args, kwargs, given, before + versions(given)))


def _on_cpu(call: RecordedCall) -> RecordedCall:
    args, kwargs, output = mapped((call.args, call.kwargs, call.output), Tensor.cpu)
    moved = RecordedCall(args, kwargs, output, ())
    noted = versions((args, kwargs, output))
    if not call.is_intact:
        # -1 is no tensor's.
        taken = versions((args, kwargs)) if call.is_repeatable else ()
        noted = (*taken, *[-1] * (len(noted) - len(taken)))
    return replace(moved, versions=noted)


def _storage(tensor: Tensor) -> tuple[int, int]:
    """Return what tells a tensor's memory from others', and its size in bytes at most."""
    try:
        storage = tensor.untyped_storage()
    except NotImplementedError:  # sparse tensors and those of other libraries have none
        return id(tensor), tensor.numel() * tensor.element_size()
    return storage.data_ptr(), storage.nbytes()
