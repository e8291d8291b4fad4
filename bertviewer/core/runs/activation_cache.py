"""Recorded inputs and outputs of modules: references to the tensors of a run, no copies."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.graph.module_calls import (
    Arguments,
    CallObserver,
    as_plain,
    map_plain,
    observing,
    tensors_in,
    versions,
)

CHECK_BYTES = 512_000_000
"""Maximum bytes of activations that a check in the window keeps alive."""

Scope = Literal["everything", "units"]


class RecordedCall(Struct, frozen=True):
    """One call of a module: its arguments and its output.

    ``versions`` counts the in-place changes of the tensors of both, in order: of the arguments
    before the call, of the output after it.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    output: Any
    versions: tuple[int, ...]

    @property
    def is_intact(self) -> bool:
        """Whether no argument and no output was changed in place since it was recorded."""
        return self.versions == versions((self.args, self.kwargs, self.output))

    @property
    def has_intact_arguments(self) -> bool:
        """Whether no argument was changed in place since it was recorded."""
        now = versions((self.args, self.kwargs))
        return self.versions[: len(now)] == now


class ActivationCache:
    """The recorded calls of modules in one run.

    The scope "everything" has the arguments and outputs of all modules, for a check. The scope
    "units" has the arguments of the layers and of modules outside the layers, which is enough to
    replay any module.

    Attributes:
        scope: what a run records.
        budget: maximum bytes of tensors. Each storage counts once, however many calls share it.
        inputs: the arguments of the model itself.
        calls: the calls by module path.
        refused: the paths of modules with a call that exceeded the budget.
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
        storages = dict(map(_storage, tensors_in((call.args, call.kwargs, call.output))))
        new = sum(size for key, size in storages.items() if key not in self._storages)
        if self.bytes + new > self.budget:
            self.refused.add(path)
            return
        self._storages |= storages
        self.calls.setdefault(path, []).append(call)

    def units(self, paths: tuple[str, ...]) -> "ActivationCache":
        """Return a cache of the scope "units" with the calls of the units at these paths."""
        found = ActivationCache("units", self.budget)
        found.inputs = self.inputs
        for path in paths:
            for call in self.calls.get(path, ()):
                count = len(versions((call.args, call.kwargs)))
                found.add(path, replace(call, output=None, versions=call.versions[:count]))
        return found

    def on_cpu(self) -> "ActivationCache":
        """Return the same calls with all tensors on the CPU; ``self`` if they are there.

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
    def recording(self, modules: Mapping[str, nn.Module]) -> Iterator[None]:
        """Record the calls of these modules inside the ``with``."""
        with observing(
            CallObserver(module, partial(self._record, path), versions)
            for path, module in modules.items()
        ):
            yield

    def _record(
        self, path: str, arguments: Arguments, output: Any, before: tuple[int, ...]
    ) -> None:
        # New containers: a model may add to its output after the call.
        args, kwargs = as_plain(arguments)
        output = as_plain(output) if self.scope == "everything" else None
        self.add(path, RecordedCall(args, kwargs, output, before + versions(output)))


def _on_cpu(call: RecordedCall) -> RecordedCall:
    args, kwargs, output = map_plain((call.args, call.kwargs, call.output), Tensor.cpu)
    noted = versions((args, kwargs, output))
    if not call.is_intact:
        same = versions((args, kwargs)) if call.has_intact_arguments else ()
        noted = (*same, *[-1] * (len(noted) - len(same)))  # no tensor has the version -1
    return RecordedCall(args, kwargs, output, noted)


def _storage(tensor: Tensor) -> tuple[int, int]:
    """Return the identity of a tensor's memory, and its size in bytes."""
    try:
        storage = tensor.untyped_storage()
    except NotImplementedError:  # sparse tensors, and those of other libraries
        return id(tensor), tensor.numel() * tensor.element_size()
    return storage.data_ptr(), storage.nbytes()
