"""Which tensors are in memory at each moment of a forward pass."""

import weakref
from collections.abc import Iterable

from torch import Tensor, UntypedStorage


class LiveMemory:
    """Notes each new storage of numbers, and when it is gone.

    A storage is the memory behind a tensor and all views of it. Integers and booleans are left
    out, as is what was there before: weights and buffers.
    """

    def __init__(self, before: Iterable[Tensor]) -> None:
        self._before = {tensor.untyped_storage()._cdata for tensor in before}
        self._alive: dict[int, tuple[weakref.ref[UntypedStorage], str, int]] = {}
        self.moments: list[frozenset[str]] = []
        """The names of all that was alive, after each operation that took new memory."""
        self.peak = 0
        """The most elements that were alive at one time."""

    def is_new(self, tensor: Tensor) -> bool:
        """Tell whether the tensor's storage is to be noted, and has not been."""
        key = tensor.untyped_storage()._cdata
        if key in self._before or not (tensor.is_floating_point() or tensor.is_complex()):
            return False
        known = self._alive.get(key)
        # The address of a storage that is gone may be another one's now.
        return known is None or known[0]() is None

    def note(self, created: Iterable[tuple[str, Tensor]]) -> None:
        """Note the storages that one operation created, by name, and what is still alive."""
        self._alive = {key: entry for key, entry in self._alive.items() if entry[0]() is not None}
        for name, tensor in created:
            storage = tensor.untyped_storage()
            self._alive[storage._cdata] = weakref.ref(storage), name, elements(tensor)
        self.moments.append(frozenset(name for _, name, _ in self._alive.values()))
        self.peak = max(self.peak, sum(size for *_, size in self._alive.values()))


def elements(tensor: Tensor) -> int:
    """Return how many elements the memory behind a tensor has room for."""
    return tensor.untyped_storage().nbytes() // tensor.element_size()
