"""Memory that operations on the CPU are about to allocate, checked against the limit in force."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from bertviewer.core.util import budget

_SMALL = 2**23
"""Results of at most this many elements are not estimated: 64 MiB of int64."""

_is_empty_free: ContextVar[bool] = ContextVar("is_empty_free", default=False)


@contextmanager
def empty_is_free() -> Iterator[None]:
    """Don't count ``torch.empty``: the system provides no memory until it is written to.

    For models that are built without initializing their weights. Legacy constructors such as
    ``torch.FloatTensor(sizes)`` in XLNet allocate on the CPU even within ``torch.device("meta")``,
    until ``build_on_meta`` moves their parameters.
    """
    token = _is_empty_free.set(True)
    try:
        yield
    finally:
        _is_empty_free.reset(token)


class AllocationGuard(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Dispatch mode that refuses CPU operations which would exceed the memory limit in force."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: True would import torch's compiler, which is not used."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Execute an operation.

        Raises:
            OverBudget: it would need too much memory, or another limit was reached.
        """
        budget.check()
        reserve_for(func, args, kwargs or {})
        return func(*args, **(kwargs or {}))


def reserve_for(operation: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check that the results of an operation on the CPU fit into the memory limit in force.

    Raises:
        OverBudget: they don't fit.
    """
    if not budget.is_limited():
        return
    if _is_empty_free.get() and operation.overloadpacket is torch.ops.aten.empty:
        return
    device = kwargs.get("device")
    if not _allocates(operation) or (device is not None and device.type == "meta"):
        return
    leaves = tree_leaves((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    is_on_meta = device is None and any(tensor.is_meta for tensor in tensors)
    if is_on_meta or _bound(tensors, leaves) <= _SMALL:
        return
    budget.reserve(_needed(operation, args, kwargs, tensors))


@cache
def _allocates(operation: Any) -> bool:
    """Return whether results are new memory, rather than views of operands or written in place."""
    returns = operation._schema.returns
    return not returns or any(result.alias_info is None for result in returns)


def _bound(tensors: Sequence[Tensor], leaves: Iterable[Any]) -> float:
    """Return an upper bound of a result's elements that needs no shape inference."""
    sizes = [leaf for leaf in leaves if isinstance(leaf, int | float) and leaf > 1]
    largest = sorted(tensor.numel() for tensor in tensors)[-2:]
    return prod(map(float, (*sizes, *largest)))


def _needed(
    operation: Any, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: Sequence[Tensor]
) -> int:
    """Return the bytes of an operation's results and of its temporary copies."""
    copies = sum(map(_bytes, filter(_overlaps, tensors)))
    meta_args, meta_kwargs = tree_map(_on_meta, (args, dict(kwargs)))
    if not tensors:
        meta_kwargs["device"] = torch.device("meta")
    try:
        results = operation(*meta_args, **meta_kwargs)
    except Exception:  # noqa: BLE001 - sizes depend on values: at most the operands'
        return copies + sum(map(_bytes, tensors))
    found = [leaf for leaf in tree_leaves(results) if isinstance(leaf, Tensor)]
    if "convolution" in operation.__name__:
        # Without oneDNN, convolution copies all patches (im2col).
        weight = tensors[1]
        patches = prod(weight.shape[1:]) * sum(it.numel() // max(1, it.shape[1]) for it in found)
        copies += patches * weight.element_size()
    return copies + sum(map(_bytes, found))


def _on_meta(leaf: Any) -> Any:
    if isinstance(leaf, torch.device):
        return torch.device("meta")
    return leaf.to("meta") if isinstance(leaf, Tensor) else leaf


def _overlaps(tensor: Tensor) -> bool:
    """Return whether elements share memory, as after expand: a contiguous copy is larger."""
    return _bytes(tensor) > tensor.untyped_storage().nbytes()


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
